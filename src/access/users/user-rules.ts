import { and, count, eq, ne, or, sql } from "drizzle-orm";
import type { Role } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { nextChange } from "../../db/next-change.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import type { User } from "./user.ts";

/**
 * Serialises changes to users on all replicas until the transaction ends. Otherwise two concurrent changes could leave
 * no administrator, or one user too many.
 */
export async function lockUsers(transaction: Db): Promise<void> {
  await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.users})`);
}

/**
 * Marks the keys, service tokens and BI keys of a user as changed, because replicas hold them with the user's role and state.
 *
 * @param changeSeq is the next number of the counter of keys.
 */
export async function markCredentials(
  transaction: Db,
  userId: string,
  changeSeq: number,
): Promise<void> {
  await transaction.update(apiKeys).set({ changeSeq }).where(eq(apiKeys.ownerId, userId));
  await nextChange(transaction, "service_tokens");
  await nextChange(transaction, "bi_keys");
}

/**
 * Throws `invalid_value` when no other active administrator would remain without this user. The caller must hold the
 * users' lock.
 *
 * @param param is the field that requests the change.
 */
export async function refuseLastAdministrator(
  transaction: Db,
  user: User,
  param?: string,
): Promise<void> {
  if (user.role !== "admin" || user.state !== "active") return;
  const [other] = await transaction
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.role, "admin"), eq(users.state, "active"), ne(users.id, user.id)))
    .limit(1);
  if (other !== undefined) return;
  throw new ServiceError(
    "invalid_value",
    "This is the last active administrator; make another user an administrator first.",
    { param },
  );
}

/**
 * Throws `insufficient_permission` for a service token that would make, change or delete an administrator, because it
 * could then log in as one and have every right.
 */
export function refuseAdministratorByToken({ caller }: AnyActor, role: Role): void {
  if (caller.kind !== "service_token" || role !== "admin") return;
  throw new ServiceError(
    "insufficient_permission",
    "A service token makes and changes only users who are not administrators. Use the session of an administrator.",
  );
}

/**
 * Throws `insufficient_permission` for a service token that would set the password of a user with a key that may do, or
 * that its owner may let do, more than a key of a service token: it could log in as that user and rotate the key.
 */
export async function refusePasswordByToken(
  transaction: Db,
  { caller }: AnyActor,
  userId: string,
): Promise<void> {
  if (caller.kind !== "service_token") return;
  const { maxLevel, passthrough, adminSet } = apiKeys;
  const mayMore = or(
    ne(maxLevel, "read_only"),
    eq(passthrough, true),
    sql`coalesce(${adminSet} ->> 'maxLevel', 'read_only') <> 'read_only'`,
    sql`${adminSet} ->> 'passthrough' = 'true'`,
  );
  const [found] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.ownerId, userId), mayMore))
    .limit(1);
  if (found === undefined) return;
  throw new ServiceError(
    "insufficient_permission",
    `The user owns ${found.id}, a key with more rights than a service token may give. Use the session of an administrator.`,
    { param: "password" },
  );
}

/** Throws `license_user_limit` when there is no room for one more active user. The caller must hold the users' lock. */
export async function refuseOverLicense(
  transaction: Db,
  { maxUsers }: Pick<Access, "maxUsers">,
): Promise<void> {
  const allowed = maxUsers();
  const [active] = await transaction
    .select({ total: count() })
    .from(users)
    .where(eq(users.state, "active"));
  if ((active?.total ?? 0) < allowed) return;
  throw new ServiceError(
    "license_user_limit",
    `The license allows ${allowed} active users, and there are as many. Disable one, or upload a larger license.`,
  );
}
