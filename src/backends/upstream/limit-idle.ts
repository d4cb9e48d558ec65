import { ServiceError } from "../../core/service-error.ts";
import { watchTime } from "../../lib/time/watch-time.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

/** Wraps a response so that it fails with `upstream_timeout` when the engine is silent for too long during a read. */
export function limitIdle(response: UpstreamResponse, idleTimeoutMs: number): UpstreamResponse {
  return {
    status: response.status,
    retryAfterSeconds: response.retryAfterSeconds,
    contentType: response.contentType,
    text: (maxBytes) => response.text(maxBytes),
    cancel: () => response.cancel(),
    next() {
      const endsAt = performance.now() + idleTimeoutMs;
      return new Promise((resolve, reject) => {
        const stopWatching = watchTime((now) => {
          if (now < endsAt) return;
          stopWatching();
          response.cancel();
          reject(silentFor(idleTimeoutMs));
        });
        response.next().then(resolve, reject).finally(stopWatching);
      });
    },
  };
}

function silentFor(idleTimeoutMs: number): ServiceError {
  const seconds = Math.round(idleTimeoutMs / 100) / 10;
  return new ServiceError(
    "upstream_timeout",
    `The model server was silent for ${seconds} seconds.`,
  );
}
