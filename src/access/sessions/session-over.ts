import { ServiceError } from "../../core/service-error.ts";

/** Of every session that opens nothing, whatever ended it. */
export function sessionOver(): ServiceError {
  return new ServiceError(
    "session_expired",
    "This session is over; log in again with POST /api/auth/login.",
  );
}
