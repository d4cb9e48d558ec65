import { and, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";

/** The owner whose usage is asked for. */
export interface UsageOwner {
  readonly keyId?: string | undefined;
  /** The user who owns the keys now. */
  readonly userId?: string | undefined;
}

/**
 * Returns the condition on `key_id` that limits usage to what the caller may see: everything for an administrator, and
 * for a user the usage of the keys owned now. Another user's key and a missing key look the same: nothing is found.
 * Undefined: no condition. Throws `insufficient_permission` when a user asks for another user's.
 */
export function usageScope(
  { role, ownerId }: AnyCaller,
  { keyId, userId }: UsageOwner,
): SQL | undefined {
  if (role !== "admin" && userId !== undefined && userId !== ownerId) {
    throw new ServiceError(
      "insufficient_permission",
      "Only an administrator sees the usage of other users.",
      { param: "user_id" },
    );
  }
  const owner = role === "admin" ? userId : ownerId;
  return and(
    keyId === undefined ? undefined : sql`key_id = ${keyId}`,
    // An array is evaluated once, and then looked up in the indexes that begin with the key.
    owner === undefined
      ? undefined
      : sql`key_id = any(array(select id from ${apiKeys} where owner_id = ${owner}))`,
  );
}
