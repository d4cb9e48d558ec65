import { ServiceError } from "../../core/service-error.ts";
import { watchTime } from "../../lib/watch-time.ts";

/**
 * What `reading` of a body brings, as long as that takes no longer than the time allowed. Rejects with
 * `request_timeout`, with the reason of a call that was ended, or with what `toError` makes of a reading that failed.
 *
 * @param allowedMs milliseconds from now on in all; they may become more while bytes arrive.
 * @param signal ends the waiting when its reason is a `ServiceError`; a client that left fails the reading itself.
 */
export function withinBodyTime<Read>(
  allowedMs: () => number,
  reading: Promise<Read>,
  toError: (thrown: unknown) => ServiceError,
  signal?: AbortSignal,
): Promise<Read> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const stopWatching = watchTime((now) => {
      if (signal?.reason instanceof ServiceError) giveUp(signal.reason);
      else if (now - startedAt >= allowedMs()) giveUp(tooSlow());
    });
    const giveUp = (error: ServiceError) => {
      stopWatching();
      reject(error);
    };
    reading.then(
      (read) => {
        stopWatching();
        resolve(read);
      },
      (thrown: unknown) => giveUp(toError(thrown)),
    );
  });
}

function tooSlow(): ServiceError {
  return new ServiceError("request_timeout", "The body took too long to arrive; send it again.");
}
