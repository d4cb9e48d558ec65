import { and, eq, type SQL } from "drizzle-orm";
import type { Caller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";

/** The keys that a caller may see: an administrator all, a user the own, a restricted key itself alone. */
export function visibleKeys(caller: Caller): SQL | undefined {
  if (isRestrictedKey(caller)) return eq(apiKeys.id, caller.keyId);
  return caller.role === "admin" ? undefined : eq(apiKeys.ownerId, caller.ownerId);
}

/** The keys whose use a caller may see: the own, administrators too; a restricted key itself alone. */
export function ownKeys(caller: Caller): SQL | undefined {
  const own = eq(apiKeys.ownerId, caller.ownerId);
  return isRestrictedKey(caller) ? and(own, eq(apiKeys.id, caller.keyId)) : own;
}

/** Refuses a restricted key with `insufficient_permission`: it could lift what holds it, or make itself a successor. */
export function requireKeyChanges(caller: Caller): void {
  if (!isRestrictedKey(caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "This key is restricted and changes no key; use a session, or a key without limits.",
  );
}

function isRestrictedKey(caller: Caller): caller is Extract<Caller, { kind: "key" }> {
  return caller.kind === "key" && caller.isRestricted;
}
