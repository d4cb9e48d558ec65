import { and, asc, count, eq, inArray, like, sql } from "drizzle-orm";
import type { Role } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { escapeLike } from "../../db/escape-like.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";

/**
 * A valid username, in any case. Only ASCII is allowed, so that no two names look alike. It is stored in lower case.
 */
export const USERNAME = /^[a-z0-9][a-z0-9._@+-]{0,63}$/i;

/** A user as administrators see it. */
export interface User {
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  readonly state: "active" | "disabled";
  readonly mustChangePassword: boolean;
  readonly createdAt: Date;
  readonly lastLoginAt: Date | null;
  /** Limits of the sum of the user's keys and sessions: null is unlimited, 0 refuses. */
  readonly monthlyTokenLimit: number | null;
  readonly rpmLimit: number | null;
  /** The number of API access keys, active or not. */
  readonly keyCount: number;
}

export interface UserQuery {
  /** A part of the name, in any case; undefined matches every user. */
  readonly search?: string | undefined;
  /** Only these users; undefined matches every user. */
  readonly ids?: readonly string[] | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Lists users by name, with the number of users on all pages. */
export function listUsers(
  { database }: Pick<Access, "database">,
  { search, ids, limit, offset }: UserQuery,
): Promise<{ readonly users: readonly User[]; readonly total: number }> {
  const hasText =
    search === undefined
      ? undefined
      : like(users.username, `%${escapeLike(search.toLowerCase())}%`);
  const isNamed = ids === undefined ? undefined : inArray(users.id, [...ids]);
  const condition = and(hasText, isNamed);
  return database.ask(async (db) => {
    const rows = await selectUsers(db, ids)
      .where(condition)
      .orderBy(asc(users.username))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(users).where(condition);
    return { users: rows, total: counted?.total ?? 0 };
  });
}

/** Rejects with `not_found`. */
export function findUser({ database }: Pick<Access, "database">, id: string): Promise<User> {
  return database.ask((db) => readUser(db, id));
}

/** Rejects with `not_found`. */
export async function readUser(db: Db, id: string): Promise<User> {
  const [user] = await selectUsers(db).where(eq(users.id, id));
  if (user !== undefined) return user;
  throw new ServiceError("not_found", "There is no user with this id; see GET /api/admin/users.");
}

/**
 * Selects users, for a condition to be added, without the hashes of their passwords.
 *
 * @param ids the only users whose keys are counted; undefined counts those of all.
 */
export function selectUsers(db: Db, ids?: readonly string[]) {
  // The keys are counted for all users at once, because a separate count for each user may read all keys of another
  // user.
  const counted = db
    .select({ ownerId: apiKeys.ownerId, total: count().as("total") })
    .from(apiKeys)
    .where(ids && inArray(apiKeys.ownerId, [...ids]))
    .groupBy(apiKeys.ownerId)
    .as("counted");
  return db
    .select({
      id: users.id,
      username: users.username,
      role: users.role,
      state: users.state,
      mustChangePassword: users.mustChangePassword,
      createdAt: users.createdAt,
      lastLoginAt: users.lastLoginAt,
      monthlyTokenLimit: users.monthlyTokenLimit,
      rpmLimit: users.rpmLimit,
      keyCount: sql<number>`coalesce(${counted.total}, 0)`.mapWith(Number),
    })
    .from(users)
    .leftJoin(counted, eq(counted.ownerId, users.id));
}
