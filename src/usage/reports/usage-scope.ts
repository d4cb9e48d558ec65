import { and, type SQL, sql } from "drizzle-orm";
import type { SessionCaller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";

/** Whose usage is asked for. */
export interface UsageOwner {
  readonly keyId?: string | undefined;
  /** Of the keys that this user owns now. */
  readonly userId?: string | undefined;
}

/**
 * The condition on `key_id` under which usage is the caller's to see: an administrator sees all, a user what the keys
 * owned now have used. Another's key and one that does not exist look the same: nothing is found. Undefined: no
 * condition. Throws `insufficient_permission` when a user asks for another user.
 */
export function usageScope(
  { role, ownerId }: SessionCaller,
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
    // An array is read once, and then looked up in the indexes that begin with the key.
    owner === undefined
      ? undefined
      : sql`key_id = any(array(select id from ${apiKeys} where owner_id = ${owner}))`,
  );
}
