import { ServiceError } from "../../core/service-error.ts";
import type { HttpChunk, HttpResponse } from "../../lib/http/http-client.ts";
import { parseRetryAfter } from "../../lib/http/parse-retry-after.ts";
import {
  nextOf,
  type ReceivingSource,
  receive,
  type Source,
  type Taker,
} from "../../lib/receive.ts";
import { connectionError } from "./connection-error.ts";
import type { Upstream } from "./upstream.ts";
import { outcomeOfFailure, outcomeOfStatus, type UpstreamOutcome } from "./upstream-figures.ts";
import type { CallWatch } from "./watch-call.ts";

/**
 * An engine's response, whatever its status. `next` and `text` reject with a `ServiceError`, or with the client's
 * reason for leaving. It must be read to its end or cancelled.
 */
export interface UpstreamResponse extends Source<HttpChunk> {
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly contentType: string | undefined;
  readonly text: (maxBytes: number) => Promise<string>;
  /** Closes the connection immediately, and ends a pending read. */
  readonly cancel: () => void;
}

interface Watching {
  readonly watch: CallWatch;
  /** Must be called when the call is over. */
  readonly ended: (outcome: UpstreamOutcome) => void;
}

/** A response under the time limits of its call, which counts the outcome of the call. */
// A class: one object for the reads of all tokens.
export class WatchedResponse
  implements UpstreamResponse, ReceivingSource<HttpChunk>, Taker<HttpChunk>
{
  readonly status: number;
  readonly #upstream: Upstream;
  readonly #response: HttpResponse;
  readonly #watch: CallWatch;
  readonly #ended: Watching["ended"];
  #taker: Taker<HttpChunk> | undefined;

  constructor(upstream: Upstream, response: HttpResponse, { watch, ended }: Watching) {
    this.status = response.status;
    this.#upstream = upstream;
    this.#response = response;
    this.#watch = watch;
    this.#ended = ended;
  }

  get retryAfterSeconds(): number | undefined {
    return parseRetryAfter(this.#response.header("retry-after"), this.#upstream.clock.now());
  }

  get contentType(): string | undefined {
    return this.#response.header("content-type");
  }

  next(): Promise<HttpChunk> {
    return nextOf(this);
  }

  receive(taker: Taker<HttpChunk>): void {
    this.#watch.waiting();
    this.#taker = taker;
    receive(this.#response, this);
  }

  take(chunk: HttpChunk): void {
    this.#watch.heard();
    if (chunk.done === true) this.#end();
    this.#taker?.take(chunk);
  }

  fail(thrown: unknown): void {
    this.#taker?.fail(this.#failure(thrown));
  }

  async text(maxBytes: number): Promise<string> {
    this.#watch.waiting();
    try {
      const text = await this.#response.text(maxBytes);
      this.#end();
      return text;
    } catch (thrown) {
      throw this.#failure(thrown);
    }
  }

  cancel(): void {
    this.#ended(this.#watch.signal.aborted ? "aborted" : outcomeOfStatus(this.status));
    this.#watch.close();
    this.#watch.abort(undefined);
    this.#response.cancel();
  }

  #end(): void {
    this.#watch.close();
    this.#ended(outcomeOfStatus(this.status));
  }

  #failure(thrown: unknown): unknown {
    this.#watch.close();
    this.#response.cancel();
    const error = callError(this.#upstream, thrown, this.#watch);
    this.#ended(outcomeOfFailure(thrown, error, this.#watch.signal.aborted));
    return error;
  }
}

/** Returns the error for a call that failed: the reason of its abort, or the failure in our words. */
export function callError(upstream: Upstream, thrown: unknown, watch: CallWatch): unknown {
  if (watch.signal.aborted) return watch.signal.reason;
  return thrown instanceof ServiceError ? thrown : connectionError(thrown, upstream.addressSetting);
}
