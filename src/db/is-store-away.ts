import { ServiceError } from "../core/service-error.ts";
import { isPassing, isQueryFailure, toDatabaseError } from "./database-error.ts";

/** Returns true when the store does not answer now: what failed by it was not tried, and goes on when it answers. */
export function isStoreAway(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.code === "storage_unavailable";
  return isQueryFailure(thrown) && isPassing(toDatabaseError(thrown));
}
