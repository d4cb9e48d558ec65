import type { StreamEncoder } from "../../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../core/chat-event.ts";
import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import { isSettledWithin } from "../server/is-settled-within.ts";
import { type SilenceLimits, watchSilence } from "../server/watch-silence.ts";

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
  const put = (text: string) => {
    if (ended) return;
    if (text === "") {
      end();
      close();
      return;
    }
    write(text);
    watch.waitForClient();
  };

  return new ReadableStream<Uint8Array>({
    start(controller) {
      write = (text) => controller.enqueue(utf8.encode(text));
      close = () => controller.close();
      fail = (error) => controller.error(error);
      put(firstText);
    },
    async pull() {
      watch.waitForEngine();
      try {
        const late = opening?.catch((thrown) => texts.failure(thrown));
        opening = undefined;
        put(await (late ?? texts.next()));
      } catch (thrown) {
        // Only a defect of the gateway leads here: the failure itself cannot be encoded. It breaks off this stream and
        // nothing else.
        const error = toServiceError(thrown);
        stream.report(error);
        if (!ended) breakOff(error);
      }
    },
    cancel() {
      if (!ended) leave();
    },
  });
}

/** The frames of a stream, as texts. */
class EventTexts {
  readonly #stream: EventStream;
  #encoder: StreamEncoder | undefined;
  #iterator: AsyncIterator<readonly ChatEvent[]> | undefined;

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  /** Resolves with the next frames, or with a failure in the family's own form; empty at the end. */
  async next(): Promise<string> {
    try {
      this.#iterator ??= (await this.#stream.events)[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await this.#iterator.next();
        if (done === true) return "";
        const last = value.at(-1);
        if (last?.type === "error") this.#stream.report(last.error);
        const text = this.#encode(value);
        if (text !== "") return text;
      }
    } catch (thrown) {
      return this.failure(thrown);
    }
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
