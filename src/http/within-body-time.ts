import { ServiceError } from "../core/service-error.ts";
import { watchTime } from "../lib/watch-time.ts";

/**
 * What `reading` of a body brings, as long as that takes no longer than the time left. Rejects with `request_timeout`,
 * or with what `toError` makes of a reading that failed.
 */
export function withinBodyTime<Read>(
  timeoutMs: number,
  reading: Promise<Read>,
  toError: (thrown: unknown) => ServiceError,
): Promise<Read> {
  return new Promise((resolve, reject) => {
    const endsAt = performance.now() + timeoutMs;
    const stopWatching = watchTime((now) => {
      if (now < endsAt) return;
      stopWatching();
      reject(
        new ServiceError("request_timeout", "The body took too long to arrive; send it again."),
      );
    });
    reading.then(
      (read) => {
        stopWatching();
        resolve(read);
      },
      (thrown: unknown) => {
        stopWatching();
        reject(toError(thrown));
      },
    );
  });
}
