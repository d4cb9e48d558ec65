import { setTimeout as delay } from "node:timers/promises";

/**
 * A server that ends a connection drops what it has not yet given to the kernel, and tells nobody when it has. The last
 * line of an answer that is cut says why, so it is given this time.
 */
const LAST_LINE_MS = 250;

export interface RelayOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the client has gone. */
  readonly onCancel: () => void;
  /** Called once, however it ends. */
  readonly onEnd: () => void;
}

/**
 * Answers with bytes as they come: the next ones are asked for when the last were sent. An iteration that rejects ends
 * the connection before the end of the body, so that the client sees that something is missing.
 */
export function relayedResponse(
  body: AsyncIterable<Uint8Array>,
  { headers, onCancel, onEnd }: RelayOptions,
): Response {
  const iterator = body[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (done !== true) {
            controller.enqueue(value);
            return;
          }
          onEnd();
          controller.close();
        } catch (thrown) {
          onEnd();
          await delay(LAST_LINE_MS);
          throw thrown;
        }
      },
      async cancel() {
        onCancel();
        onEnd();
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(withQuietEnd(stream), { headers });
}

/**
 * The adapter of Node prints the error with which a body ends to stderr. This body's last line has said it to the
 * client, and the log of statements has it.
 */
function withQuietEnd(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const value = () => {
    const reader = ReadableStream.prototype.getReader.call(stream);
    const closed = reader.closed.catch(() => undefined);
    return Object.defineProperty(reader, "closed", { value: closed });
  };
  return Object.defineProperty(stream, "getReader", { value });
}
