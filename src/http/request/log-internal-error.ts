import type { ServiceError } from "../../core/service-error.ts";
import type { Log } from "../../lib/log.ts";

/** Logs the cause of an `internal_error`, which the client does not see. Every other error is complete in itself. */
export function logInternalError(log: Log, error: ServiceError, requestId: string): void {
  if (error.code !== "internal_error") return;
  log.error({ request_id: requestId, err: error.cause }, "a request failed with an internal error");
}
