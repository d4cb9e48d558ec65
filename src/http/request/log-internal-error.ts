import type { ServiceError } from "../../core/service-error.ts";
import type { Log } from "../../lib/log.ts";

/** Logs what is behind an `internal_error`, which its client is not told. Every other error says all there is to say. */
export function logInternalError(log: Log, error: ServiceError, requestId: string): void {
  if (error.code !== "internal_error") return;
  log.error({ request_id: requestId, err: error.cause }, "a request failed with an internal error");
}
