import { ServiceError } from "../../core/service-error.ts";
import type { OpenCalls } from "../../gateway/open-calls.ts";
import type { RequestsUnderWay } from "./requests-under-way.ts";
import type { Server } from "./server.ts";

/** What is still open after the drain has this long to take in its last words. */
const LAST_WORDS_MS = 500;

export interface Draining {
  readonly server: Pick<Server, "stop" | "close">;
  readonly underWay: Pick<RequestsUnderWay, "none">;
  readonly openCalls: Pick<OpenCalls, "abortAll">;
  /** DRAIN_TIMEOUT_MS. */
  readonly drainMs: number;
}

/**
 * Lets the requests under way come to their ends. The server goes on listening meanwhile, so that who watches it sees
 * that it is not ready any more and why, and who still calls is told at once to come again. What is left when the time
 * is over is ended with an error in its family's form. Resolves when every connection is closed, `LAST_WORDS_MS` after
 * the drain at the latest.
 */
export async function drainServer(draining: Draining): Promise<void> {
  const { server, underWay, openCalls, drainMs } = draining;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  // An answer that is made is not read yet: a slow client has as long for it as for a stream.
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
