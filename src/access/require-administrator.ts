import type { AnyCaller } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";

/**
 * Refuses a caller without the administrator role, by session or by key, with `insufficient_permission`. Also refuses a
 * restricted key of an administrator, which might lift its own restrictions.
 */
export function requireAdministrator(caller: AnyCaller): void {
  if (caller.role !== "admin") {
    throw new ServiceError("insufficient_permission", "Only an administrator may do this.");
  }
  if (caller.kind === "key" && caller.isRestricted) {
    throw new ServiceError(
      "insufficient_permission",
      "This key is restricted and cannot do this; use the session of an administrator, or a key without limits.",
    );
  }
}
