import type { StreamEncoder } from "../../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../core/chat-event.ts";
import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import { isSettledWithin } from "../serving/is-settled-within.ts";
import { type SilenceLimits, watchSilence } from "../serving/watch-silence.ts";

export interface EventStream extends SilenceLimits {
  /** Pending while the engine has not begun to answer. */
  readonly events: Promise<ChatEvents>;
  /** Called once, when the first event or the failure is there. */
  readonly createEncoder: () => StreamEncoder;
  /** What is written into a silence. */
  readonly keepalive: string;
  /** Ends the call: the client left or stopped reading. */
  readonly abort: (reason?: ServiceError) => void;
  /** Called with the error that ends the stream. */
  readonly report: (error: ServiceError) => void;
  /** Called once, when nothing more will be written. */
  readonly onEnd: () => void;
}

const utf8 = new TextEncoder();

/**
 * Writes a call's events as a server-sent event stream. One pull of the client takes one batch, so a client that
 * stops reading stops the engine; whole frames leave in one write, the first of them with the answer's head. Resolves
 * when these are there, or with a stream that begins with a keepalive when the engine is silent for that long. Rejects
 * with its failure before: the status is still free.
 */
export async function writeEventStream(stream: EventStream): Promise<ReadableStream<Uint8Array>> {
  let encoder: StreamEncoder | undefined;
  let iterator: AsyncIterator<readonly ChatEvent[]> | undefined;
  let ended = false;

  const encode = (events: readonly ChatEvent[]): string => {
    encoder ??= stream.createEncoder();
    return encoder.encode(events);
  };
  const nextText = async (): Promise<string> => {
    try {
      iterator ??= (await stream.events)[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await iterator.next();
        if (done === true) return "";
        const last = value.at(-1);
        if (last?.type === "error") stream.report(last.error);
        const text = encode(value);
        if (text !== "") return text;
      }
    } catch (thrown) {
      return failureText(toServiceError(thrown));
    }
  };
  /** The failure in the family's own form; empty when the stream's end was written already. */
  const failureText = (error: ServiceError): string => {
    const text = encode([{ type: "error", error }]);
    if (text !== "") stream.report(error);
    return text;
  };
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

  const first = stream.events.then(nextText);
  // There may be events all the same: what fails may be their encoding.
  first.catch(() => closeEvents(stream.events));
  let opening: Promise<string> | undefined;
  let firstText = stream.keepalive;
  if (await isSettledWithin(first, stream.keepaliveMs)) firstText = await first;
  else opening = first;

  let write: (text: string) => void = () => {};
  let close: () => void = () => {};
  let fail: (error: ServiceError) => void = () => {};
  const watch = watchSilence(
    stream,
    () => write(stream.keepalive),
    (error) => {
      leave(error);
      fail(error);
    },
  );

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
      const pulled = opening?.catch((thrown) => failureText(toServiceError(thrown))) ?? nextText();
      opening = undefined;
      await pulled.then(put).catch((thrown: unknown) => {
        // Only our own fault comes here: the failure cannot be encoded either. It breaks the stream off, and no more.
        const error = toServiceError(thrown);
        stream.report(error);
        if (!ended) leave(error);
        throw error;
      });
    },
    cancel() {
      if (!ended) leave();
    },
  });
}

/** Also a stream that nobody pulls any more has to be closed and metered. */
function closeEvents(events: Promise<ChatEvents>): void {
  events.then((begun) => begun[Symbol.asyncIterator]().return?.()).catch(() => {});
}
