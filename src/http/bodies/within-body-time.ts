import { ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import { unwatchTime, watchTimeBy } from "../../lib/time/watch-time.ts";

/**
 * Returns the result of `reading` a body, if it takes no longer than the allowed time. Rejects with `request_timeout`,
 * with the reason of an aborted call, or with the result of `toError` for a failed reading.
 *
 * @param allowedMs returns the total milliseconds from now; the value may grow as bytes arrive.
 * @param signal ends the waiting when its reason is a `ServiceError`. A client that disconnects fails the reading
 * itself.
 */
export function withinBodyTime<Read>(
  allowedMs: () => number,
  reading: Promise<Read>,
  toError: (thrown: unknown) => ServiceError,
  signal?: CancelSignal,
): Promise<Read> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const watcher = {
      look(now: number) {
        if (signal?.reason instanceof ServiceError) giveUp(signal.reason);
        else if (now - startedAt >= allowedMs()) giveUp(tooSlow());
      },
    };
    watchTimeBy(watcher);
    const giveUp = (error: ServiceError) => {
      unwatchTime(watcher);
      reject(error);
    };
    reading.then(
      (read) => {
        unwatchTime(watcher);
        resolve(read);
      },
      (thrown: unknown) => giveUp(toError(thrown)),
    );
  });
}

function tooSlow(): ServiceError {
  return new ServiceError("request_timeout", "The body took too long to arrive; send it again.");
}
