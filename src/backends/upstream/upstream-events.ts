import type { StreamReader } from "../../codecs/codec.ts";
import type { ChatEvent } from "../../core/chat/chat-event.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { HttpChunk } from "../../lib/http/http-client.ts";
import { nextOf, type ReceivingSource, receive, type Taker } from "../../lib/receive.ts";
import { watchTime } from "../../lib/time/watch-time.ts";
import { concealError } from "./conceal.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

type Batch = readonly ChatEvent[];
type Step = IteratorResult<Batch, undefined>;

const DONE: Step = { done: true, value: undefined };

/** Limits for reading the rest after the final event; beyond them the connection is closed instead of reused. */
const REST = { reads: 16, timeoutMs: 1_000 };

/**
 * The events of a streaming answer, one batch per network read. Failures arrive as one `error` event; a read fails only
 * when the client left, with its reason. `return` closes the connection immediately.
 */
// A class and not a generator: a generator's `return` would wait for the pending read.
export class UpstreamEvents
  implements AsyncIterableIterator<Batch, undefined>, ReceivingSource<Step>, Taker<HttpChunk>
{
  readonly #response: UpstreamResponse;
  readonly #reader: StreamReader;
  readonly #upstream: Upstream;
  #ended = false;
  #peeked: Step | undefined;
  #taker: Taker<Step> | undefined;

  constructor(
    response: UpstreamResponse,
    { reader, upstream }: { readonly reader: StreamReader; readonly upstream: Upstream },
  ) {
    this.#response = response;
    this.#reader = reader;
    this.#upstream = upstream;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the first batch, which the first read returns again. */
  async peek(): Promise<Batch> {
    const first = await this.next();
    this.#peeked = first;
    return first.value ?? [];
  }

  next(): Promise<Step> {
    return nextOf(this);
  }

  receive(taker: Taker<Step>): void {
    const peeked = this.#peeked;
    this.#peeked = undefined;
    if (peeked !== undefined) taker.take(peeked);
    else if (this.#ended) taker.take(DONE);
    else {
      this.#taker = taker;
      receive(this.#response, this);
    }
  }

  take({ done, value }: HttpChunk): void {
    let batch: Batch;
    try {
      batch = done === true ? this.#readEnd() : this.#readBytes(value);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    if (batch.length > 0) this.#taker?.take({ done: false, value: batch });
    else receive(this.#response, this);
  }

  fail(thrown: unknown): void {
    this.#cut();
    // Any other error is the client's reason for leaving.
    if (!(thrown instanceof ServiceError)) this.#taker?.fail(thrown);
    else this.#taker?.take({ done: false, value: [this.#errorEvent(thrown)] });
  }

  async return(): Promise<Step> {
    this.#peeked = undefined;
    if (!this.#ended) this.#cut();
    return DONE;
  }

  #readBytes(bytes: Uint8Array | undefined): Batch {
    if (bytes === undefined) return [];
    const batch = this.#reader.read(bytes);
    const { type } = batch.at(-1) ?? {};
    if (type === "finish") this.#finish();
    else if (type === "error") this.#cut();
    return this.#concealed(batch);
  }

  #readEnd(): Batch {
    this.#ended = true;
    const batch = this.#reader.end();
    if (batch.length > 0) return this.#concealed(batch);
    return [this.#errorEvent(new ServiceError("upstream_error", "The answer ended early."))];
  }

  /** Returns the batch without keys and addresses in its error, which is its last event. */
  #concealed(batch: Batch): Batch {
    const last = batch.at(-1);
    return last?.type === "error" ? [...batch.slice(0, -1), this.#errorEvent(last.error)] : batch;
  }

  #errorEvent(error: ServiceError): ChatEvent {
    return { type: "error", error: concealError(error, this.#upstream) };
  }

  #cut(): void {
    this.#ended = true;
    this.#response.cancel();
  }

  #finish(): void {
    this.#ended = true;
    new Rest(this.#response).read();
  }
}

/**
 * Reads the rest of a finished answer in the background: a connection is reused only if its response was read to the
 * end. Mostly the rest is there already.
 */
class Rest implements Taker<HttpChunk> {
  readonly #response: UpstreamResponse;
  #readsLeft = REST.reads;
  #isOver = false;
  #stopWatching: (() => void) | undefined;

  constructor(response: UpstreamResponse) {
    this.#response = response;
  }

  read(): void {
    receive(this.#response, this);
    if (this.#isOver || this.#stopWatching !== undefined) return;
    const endsAt = performance.now() + REST.timeoutMs;
    this.#stopWatching = watchTime((now) => {
      if (now >= endsAt) this.#giveUp();
    });
  }

  take({ done }: HttpChunk): void {
    this.#readsLeft -= 1;
    if (done === true) this.fail();
    else if (this.#readsLeft === 0) this.#giveUp();
    else receive(this.#response, this);
  }

  /** The answer is complete; how its connection ended is irrelevant. */
  fail(): void {
    this.#isOver = true;
    this.#stopWatching?.();
  }

  #giveUp(): void {
    this.fail();
    this.#response.cancel();
  }
}
