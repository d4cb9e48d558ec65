import { ServiceError } from "../../core/service-error.ts";

/** The error of a call whose record no disk and no database takes. A client that tries again soon may succeed. */
export function storageUnavailable(cause: unknown): ServiceError {
  return new ServiceError("storage_unavailable", "The gateway cannot record this call now.", {
    retryAfterSeconds: 1,
    cause,
  });
}
