import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import { isSettledWithin } from "../server/is-settled-within.ts";
import { EVENT_STREAM_HEADERS } from "./write-event-stream.ts";

/** An answer of one JSON text, which may take long. */
export interface LateAnswer {
  readonly text: Promise<string>;
  /** False for a client that reads no event streams; it waits for the JSON however long that takes. */
  readonly maySwitch: boolean;
  /** The silence after which the answer becomes a stream, and after which each keepalive follows. */
  readonly keepaliveMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the status 200 goes out ahead of the text. */
  readonly onStream: () => void;
  /** Returns the text for a failure once the status has been sent. */
  readonly failureText: (error: ServiceError) => string;
  /** Aborts the call, because the client disconnected. */
  readonly abort: () => void;
  /** Called once, when nothing more will be written. */
  readonly onEnd: () => void;
}

const KEEPALIVE = ": keepalive\n\n";
const utf8 = new TextEncoder();

/**
 * Answers with JSON when the text is there in time, and otherwise with an event stream of comments and the text as its
 * only event: proxies and clients give up on connections that stay silent. Rejects with a failure before that.
 */
export async function answerLate(answer: LateAnswer): Promise<Response> {
  const { text, maySwitch, keepaliveMs, headers } = answer;
  const isInTime = !maySwitch || (await isSettledWithin(text, keepaliveMs));
  if (!isInTime) {
    answer.onStream();
    return new Response(streamOf(answer), { headers: { ...EVENT_STREAM_HEADERS, ...headers } });
  }
  const body = await text;
  answer.onEnd();
  return new Response(body, { headers: { "content-type": "application/json", ...headers } });
}

function streamOf({
  text,
  keepaliveMs,
  failureText,
  abort,
  onEnd,
}: LateAnswer): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval> | undefined;
  let isOver = false;
  const end = () => {
    isOver = true;
    clearInterval(timer);
    onEnd();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (frame: string) => controller.enqueue(utf8.encode(frame));
      write(KEEPALIVE);
      timer = setInterval(() => write(KEEPALIVE), keepaliveMs);
      const finish = (last: string) => {
        if (isOver) return;
        end();
        write(`event: message\ndata: ${last}\n\n`);
        controller.close();
      };
      text.then(finish, (thrown: unknown) => finish(failureText(toServiceError(thrown))));
    },
    cancel() {
      if (isOver) return;
      end();
      abort();
    },
  });
}
