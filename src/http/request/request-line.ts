import type { AnyCaller, DataCaller } from "../../core/callers/caller.ts";
import type { ServiceError } from "../../core/service-error.ts";
import { type Log, writePlainLine } from "../../lib/log.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";
import { printablePath } from "./printable-path.ts";

/** The facts that are known of a request when it arrives. */
interface Arrival {
  readonly log: Log;
  readonly requestId: string;
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** The client's address. */
  readonly client: string | null;
  /** True when the line matters only if the request fails. */
  readonly isProbe: boolean;
}

/** The result of a request. */
export interface FinishedRequest {
  /** The pattern of the route; undefined when no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  /** The code of the error that the caller got; undefined for a client that disconnected. */
  readonly errorCode: string | undefined;
  /** The usage row of its metered call. */
  readonly usage: UsageRecord | undefined;
}

/** The status of a request whose client disconnected before the answer, used only in logs. */
const CLIENT_CLOSED_REQUEST = 499;
const METHOD_MAX_LENGTH = 16;
const MODEL_MAX_LENGTH = 200;

/**
 * The one log line of a request. Every part that works on the request holds the line. It is written on the last
 * release, which is after the end of a stream and of its metering.
 */
export class RequestLine {
  /** The pattern of the route; unset until a route matches. */
  route: string | undefined;
  caller: AnyCaller | DataCaller | undefined;
  /** The error that refused the request or ended its stream. */
  error: ServiceError | undefined;
  readonly #arrival: Arrival;
  readonly #onWritten: (finished: FinishedRequest) => void;
  readonly #startedAt = performance.now();
  #holders = 1;
  #status = 0;
  #record: UsageRecord | undefined;
  #isAborted = false;

  constructor(arrival: Arrival, onWritten: (finished: FinishedRequest) => void) {
    this.#arrival = arrival;
    this.#onWritten = onWritten;
  }

  /** Keeps the line from being written until `release` is called, once for each `hold`. */
  hold(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#write();
    this.#onWritten({
      route: this.route,
      status: this.#status,
      errorCode: this.#errorCode(),
      usage: this.#record,
    });
  }

  /** Records that the metered call of this request begins; `meterEnded` will follow. */
  meterBegan(): void {
    this.hold();
  }

  /** @param record has the content of the usage row, even for a call without one. */
  meterEnded(record: UsageRecord): void {
    this.#record = record;
    this.release();
  }

  /**
   * Records that the response headers are being sent, with the whole answer unless it is a stream.
   *
   * @param clientLeft is true when the client has disconnected.
   */
  answered(status: number, clientLeft: boolean): void {
    this.#isAborted = clientLeft;
    this.#status = clientLeft ? CLIENT_CLOSED_REQUEST : status;
    this.release();
  }

  #wasLeft(): boolean {
    return this.#isAborted || this.#record?.outcome === "aborted";
  }

  #errorCode(): string | undefined {
    return this.#wasLeft() ? undefined : this.error?.code;
  }

  #write(): void {
    const { log, requestId, method, path, client } = this.#arrival;
    const { route, caller } = this;
    const record = this.#record;
    const isAborted = this.#wasLeft();
    const isOfModel = record?.toolName === undefined;
    // The serialiser omits what is undefined, at less cost than an object that lacks it.
    const fields = {
      method: method.slice(0, METHOD_MAX_LENGTH),
      path: route === undefined ? printablePath(path) : undefined,
      route,
      status: this.#status,
      duration_ms: Math.round(performance.now() - this.#startedAt),
      request_id: requestId,
      token_id: caller?.kind === "service_token" ? caller.tokenId : undefined,
      bi_key_id: caller?.kind === "bi_key" ? caller.keyId : undefined,
      key_id: caller?.kind === "key" ? caller.keyId : undefined,
      user_id: caller?.kind === "session" ? caller.ownerId : undefined,
      channel: record?.channel,
      model: isOfModel ? record?.model.slice(0, MODEL_MAX_LENGTH) : undefined,
      input_tokens: isOfModel ? record?.inputTokens : undefined,
      output_tokens: isOfModel ? record?.outputTokens : undefined,
      tool: record?.toolName,
      outcome: record?.outcome,
      ttft_ms: record?.firstTokenMs,
      code: this.#errorCode(),
      aborted: isAborted || undefined,
      client,
    };
    writePlainLine(log, isAborted ? "info" : this.#level(), fields, "request");
  }

  /**
   * Returns the level of the line. Defects of the gateway stand out. A failure of an engine has a line of its own, once
   * and not for each call.
   */
  #level(): "debug" | "info" | "warn" | "error" {
    const { error } = this;
    if (error === undefined) return this.#arrival.isProbe && this.#status < 400 ? "debug" : "info";
    if (error.code === "internal_error") return "error";
    const isOurs = error.code === "storage_unavailable" || error.code === "overloaded";
    return isOurs && error.upstreamStatus === undefined ? "warn" : "info";
  }
}
