import type { StreamEncoder } from "../../codecs/codec.ts";
import type { ChatEvent, ChatEvents } from "../../core/chat-event.ts";
import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import { type SilenceLimits, watchSilence } from "../serving/watch-silence.ts";

export interface EventStream extends SilenceLimits {
  /** Pending while the engine has not begun to answer. */
  readonly events: Promise<ChatEvents>;
  /** Called once, when the first event or the failure is there. */
  readonly createEncoder: () => StreamEncoder;
  /** What is written into a silence. */
  readonly keepalive: string;
  /** The engine was silent for so long already that the stream begins with a keepalive. */
  readonly beginsSilent: boolean;
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
 * stops reading stops the engine; whole frames leave in one write.
 */
export function writeEventStream(stream: EventStream): ReadableStream<Uint8Array> {
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
    // Also a stream that nobody pulls any more has to be closed and metered.
    stream.events.then((events) => events[Symbol.asyncIterator]().return?.()).catch(() => {});
  };

  let write: (text: string) => void = () => {};
  let fail: (error: ServiceError) => void = () => {};
  const watch = watchSilence(
    stream,
    () => write(stream.keepalive),
    (error) => {
      leave(error);
      fail(error);
    },
  );

  return new ReadableStream<Uint8Array>({
    start(controller) {
      write = (text) => controller.enqueue(utf8.encode(text));
      fail = (error) => controller.error(error);
      if (stream.beginsSilent) write(stream.keepalive);
    },
    async pull(controller) {
      watch.waitForEngine();
      const text = await nextText();
      if (ended) return;
      if (text === "") {
        end();
        controller.close();
        return;
      }
      write(text);
      watch.waitForClient();
    },
    cancel() {
      if (!ended) leave();
    },
  });
}
