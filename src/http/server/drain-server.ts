import { ServiceError } from "../../core/service-error.ts";
import type { OpenCalls } from "../../gateway/open-calls.ts";
import type { RequestsUnderWay } from "./requests-under-way.ts";
import type { Server } from "./server.ts";

/** The time that calls still open after the drain have to send their last events. */
const LAST_WORDS_MS = 500;

export interface Draining {
  readonly server: Pick<Server, "stop" | "close">;
  readonly underWay: Pick<RequestsUnderWay, "none">;
  readonly openCalls: Pick<OpenCalls, "abortAll">;
  /** DRAIN_TIMEOUT_MS. */
  readonly drainMs: number;
}

/**
 * Waits for the requests in progress. The server keeps listening, so that monitors see why it is not ready, and new
 * callers immediately get an error that lets them retry. When the time is over, the remaining calls end with an error
 * in their family's form. Resolves when every connection is closed, `LAST_WORDS_MS` after the drain at the latest.
 */
export async function drainServer(draining: Draining): Promise<void> {
  const { server, underWay, openCalls, drainMs } = draining;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  // A finished answer may still be unread: a slow client has as much time for it as for a stream.
  await settledWithin(underWay.none().then(stop), drainMs);
  const answered = stop();
  openCalls.abortAll(
    new ServiceError("overloaded", "The server is stopping; send the request again.", {
      retryAfterSeconds: 1,
    }),
  );
  await settledWithin(Promise.all([answered, underWay.none()]), LAST_WORDS_MS);
  server.close();
}

function settledWithin(work: Promise<unknown>, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
