import type { Caller } from "../../core/caller.ts";
import type { ServiceError } from "../../core/service-error.ts";
import { type Log, writePlainLine } from "../../lib/log.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";
import { printablePath } from "./printable-path.ts";

/** What is known of a request when it arrives. */
interface Arrival {
  readonly log: Log;
  readonly requestId: string;
  readonly method: string;
  /** As it came, without the query. */
  readonly path: string;
  /** The client's address. */
  readonly client: string | null;
  /** Its line is of interest only when it fails. */
  readonly isProbe: boolean;
}

/** What came of a request. */
export interface FinishedRequest {
  /** As a pattern; undefined where none took it. */
  readonly route: string | undefined;
  readonly status: number;
  /** What the caller was told went wrong; undefined for one that left. */
  readonly errorCode: string | undefined;
  /** Of its metered call. */
  readonly usage: UsageRecord | undefined;
}

/** The status of a request whose client left before anything was answered, in logs alone. */
const CLIENT_CLOSED_REQUEST = 499;
const METHOD_MAX_LENGTH = 16;
const MODEL_MAX_LENGTH = 200;

/**
 * The one log line of a request. Whoever works on the request holds the line; it is written when the last one lets go
 * of it, so after the end of a stream and of its metering.
 */
export class RequestLine {
  /** The pattern of the route that took it; unset while none has. */
  route: string | undefined;
  /** Set once it is known. */
  caller: Caller | undefined;
  /** What it was refused with, or what ended its stream. */
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

  /** The metered call of this request begins; `meterEnded` is to follow. */
  meterBegan(): void {
    this.hold();
  }

  /** @param record what its usage row tells, or would tell if it had one. */
  meterEnded(record: UsageRecord): void {
    this.#record = record;
    this.release();
  }

  /**
   * The answer's head is on its way, and with it the whole of an answer that is no stream.
   *
   * @param clientLeft nobody is there to read it.
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
    const code = this.#errorCode();
    const fields = {
      method: method.slice(0, METHOD_MAX_LENGTH),
      ...(route === undefined ? { path: printablePath(path) } : { route }),
      status: this.#status,
      duration_ms: Math.round(performance.now() - this.#startedAt),
      request_id: requestId,
      ...(caller !== undefined && whoCalls(caller)),
      ...(record !== undefined && factsOf(record)),
      ...(code !== undefined && { code }),
      ...(isAborted && { aborted: true }),
      client,
    };
    writePlainLine(log, isAborted ? "info" : this.#level(), fields, "request");
  }

  /** What is our own fault stands out; that an engine failed is told by a line of its own, once and not for each call. */
  #level(): "debug" | "info" | "warn" | "error" {
    const { error } = this;
    if (error === undefined) return this.#arrival.isProbe && this.#status < 400 ? "debug" : "info";
    if (error.code === "internal_error") return "error";
    const isOurs = error.code === "storage_unavailable" || error.code === "overloaded";
    return isOurs && error.upstreamStatus === undefined ? "warn" : "info";
  }
}

function whoCalls(caller: Caller) {
  return caller.kind === "key" ? { key_id: caller.keyId } : { user_id: caller.ownerId };
}

function factsOf(record: UsageRecord) {
  return {
    channel: record.channel,
    model: record.model.slice(0, MODEL_MAX_LENGTH),
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    outcome: record.outcome,
    ttft_ms: record.firstTokenMs,
  };
}
