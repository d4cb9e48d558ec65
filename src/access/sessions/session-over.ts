import { ServiceError } from "../../core/service-error.ts";

/** Returns the error for every session that is not valid, whatever ended it. */
export function sessionOver(): ServiceError {
  return new ServiceError(
    "session_expired",
    "This session is over; log in again with POST /api/auth/login.",
  );
}
