import type { StreamEncoder } from "../../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../core/chat-event.ts";
import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import {
  nextOf,
  type ReceivingSource,
  receive,
  type Source,
  type Taker,
} from "../../lib/receive.ts";
import { isSettledWithin } from "../server/is-settled-within.ts";
import { type SilenceLimits, watchSilence } from "../server/watch-silence.ts";

type Step = IteratorResult<readonly ChatEvent[]>;

export interface EventStream extends SilenceLimits {
  /** Pending until the engine begins to answer. */
  readonly events: Promise<ChatEvents>;
  /** Called once, on the first event or the failure. */
  readonly createEncoder: () => StreamEncoder;
  /** The text that is written when the engine is silent. */
  readonly keepalive: string;
  /** Aborts the call, because the client disconnected or stopped reading. */
  readonly abort: (reason?: ServiceError) => void;
  /** Called with the error that ends the stream. */
  readonly report: (error: ServiceError) => void;
  /** Called once, when nothing more will be written. */
  readonly onEnd: () => void;
}

/** Headers of a response whose body is an event stream. */
export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

const utf8 = new TextEncoder();

/**
 * Writes a call's events as a server-sent event stream. One pull by the client takes one batch, so a client that stops
 * reading stops the engine. Whole frames leave in one write, the first of them together with the response headers.
 * Resolves when the first frames exist, or with a stream that begins with a keepalive when the engine is silent for
 * that long. Rejects with a failure before that, because the status is not yet sent.
 */
export async function writeEventStream(stream: EventStream): Promise<ReadableStream<Uint8Array>> {
  const texts = new EventTexts(stream);
  const first = stream.events.then(() => texts.next());
  // There may be events nevertheless: the failure may be in their encoding.
  first.catch(() => closeEvents(stream.events));
  const isBegun = await isSettledWithin(first, stream.keepaliveMs);
  const firstText = isBegun ? await first : stream.keepalive;
  let opening = isBegun ? undefined : first;

  let ended = false;
  let write: (text: string) => void = () => {};
  let close: () => void = () => {};
  let fail: (error: ServiceError) => void = () => {};
  const end = () => {
    ended = true;
    watch.stop();
    stream.onEnd();
  };
  const leave = (reason?: ServiceError) => {
    end();
    stream.abort(reason);
    closeEvents(stream.events);
  };
  const breakOff = (error: ServiceError) => {
    leave(error);
    fail(error);
  };
  const watch = watchSilence(stream, () => write(stream.keepalive), breakOff);
  let isReading = false;
  const put = (text: string) => {
    isReading = false;
    if (ended) return;
    if (text === "") {
      end();
      close();
      return;
    }
    watch.waitForClient();
    // It may pull again before it returns.
    write(text);
  };
  const reader: Taker<string> = {
    take: put,
    fail(thrown) {
      // Only a defect of the gateway leads here: the failure itself cannot be encoded. It breaks off this stream and
      // nothing else.
      const error = toServiceError(thrown);
      stream.report(error);
      if (!ended) breakOff(error);
    },
  };

  return new ReadableStream<Uint8Array>({
    start(controller) {
      write = (text) => controller.enqueue(utf8.encode(text));
      close = () => controller.close();
      fail = (error) => controller.error(error);
      put(firstText);
    },
    pull() {
      if (isReading) return;
      isReading = true;
      watch.waitForEngine();
      const late = opening;
      opening = undefined;
      if (late === undefined) texts.receive(reader);
      else late.catch((thrown) => texts.failure(thrown)).then(reader.take, reader.fail);
    },
    cancel() {
      if (!ended) leave();
    },
  });
}

/** The frames of a stream, as texts. */
class EventTexts implements ReceivingSource<string>, Taker<Step> {
  readonly #stream: EventStream;
  #encoder: StreamEncoder | undefined;
  #source: (AsyncIterator<readonly ChatEvent[]> & Source<Step>) | undefined;
  #taker: Taker<string> | undefined;

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  next(): Promise<string> {
    return nextOf(this);
  }

  /** Reads the next frames, or a failure in the family's own form; empty at the end. */
  receive(taker: Taker<string>): void {
    this.#taker = taker;
    if (this.#source !== undefined) {
      receive(this.#source, this);
      return;
    }
    this.#stream.events.then(
      (events) => {
        this.#source = events[Symbol.asyncIterator]();
        receive(this.#source, this);
      },
      (thrown: unknown) => this.fail(thrown),
    );
  }

  take({ done, value }: Step): void {
    if (done === true) {
      this.#taker?.take("");
      return;
    }
    let text: string;
    try {
      const last = value.at(-1);
      if (last?.type === "error") this.#stream.report(last.error);
      text = this.#encode(value);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    if (text !== "") this.#taker?.take(text);
    else if (this.#source !== undefined) receive(this.#source, this);
  }

  fail(thrown: unknown): void {
    let text: string;
    try {
      text = this.failure(thrown);
    } catch (defect) {
      this.#taker?.fail(defect);
      return;
    }
    this.#taker?.take(text);
  }

  /** Returns a failure as a frame; empty when the end of the stream was already written. */
  failure(thrown: unknown): string {
    const error = toServiceError(thrown);
    const text = this.#encode([{ type: "error", error }]);
    if (text !== "") this.#stream.report(error);
    return text;
  }

  #encode(events: readonly ChatEvent[]): string {
    this.#encoder ??= this.#stream.createEncoder();
    return this.#encoder.encode(events);
  }
}

/** Closes the events of a stream, so that a stream without a reader is closed and metered too. */
function closeEvents(events: Promise<ChatEvents>): void {
  events.then((begun) => begun[Symbol.asyncIterator]().return?.()).catch(() => {});
}
