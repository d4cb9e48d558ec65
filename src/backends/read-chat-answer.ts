import type { ClientCodec } from "../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../core/chat/chat-event.ts";
import { ServiceError } from "../core/service-error.ts";
import { nextOf, type ReceivingSource, type Taker } from "../lib/receive.ts";
import { concealError } from "./upstream/conceal.ts";
import type { Upstream } from "./upstream/upstream.ts";
import { UpstreamEvents } from "./upstream/upstream-events.ts";
import type { UpstreamResponse } from "./upstream/upstream-response.ts";

type Batch = readonly ChatEvent[];
type Step = IteratorResult<Batch, undefined>;

const DONE: Step = { done: true, value: undefined };
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** What of an engine its answers are read with. */
interface AnsweringEngine {
  readonly codec: ClientCodec;
  readonly upstream: Upstream;
}

/** Reads what an engine answered: events as they come, or all of them as one batch. Throws what failed before any text. */
export function readChatAnswer(
  engine: AnsweringEngine,
  response: UpstreamResponse,
  stream: boolean,
): Promise<ChatEvents> {
  if (stream) return readStream(engine, response);
  return response.text(MAX_ANSWER_BYTES).then((text) => toEvents(engine, text));
}

/** Reads a complete answer. Throws the error of an answer that failed. */
function toEvents({ codec, upstream }: AnsweringEngine, text: string): ChatEvents {
  const batch = readWhole(codec, text, upstream);
  throwIfFailed(batch, upstream);
  return new OnlyBatch(batch);
}

/** Rejects with the error of an answer that fails before any content. */
async function readStream(
  { codec, upstream }: AnsweringEngine,
  response: UpstreamResponse,
): Promise<ChatEvents> {
  const events = new UpstreamEvents(response, {
    reader: codec.streamReader(upstream.limits.maxEventBytes),
    upstream,
  });
  throwIfFailed(await events.peek(), upstream);
  return events;
}

/** An error inside a complete answer is in the engine's own words too, so they are redacted. */
function readWhole(codec: ClientCodec, text: string, upstream: Upstream): Batch {
  try {
    return codec.readAnswer(text);
  } catch (thrown) {
    throw thrown instanceof ServiceError ? concealError(thrown, upstream) : thrown;
  }
}

/** Throws the error of an answer that fails before any content, because the HTTP status can still report it. */
function throwIfFailed(batch: Batch, upstream: Upstream): void {
  const first = batch.find((event) => event.type !== "start");
  if (first?.type === "error") throw concealError(first.error, upstream);
}

/** Not a generator, which would cost every short answer several objects and event loop turns. It is read once. */
class OnlyBatch implements AsyncIterableIterator<Batch, undefined>, ReceivingSource<Step> {
  #batch: Batch | undefined;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    return nextOf(this);
  }

  receive(taker: Taker<Step>): void {
    const value = this.#batch;
    this.#batch = undefined;
    taker.take(value === undefined ? DONE : { done: false, value });
  }
}
