import { count, eq, sql } from "drizzle-orm";
import type { Role } from "../../core/caller.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";

/** A user as administrators see it. */
export interface User {
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  readonly state: "active" | "disabled";
  readonly mustChangePassword: boolean;
  readonly createdAt: Date;
  readonly lastLoginAt: Date | null;
  /** API access keys, active or not. */
  readonly keyCount: number;
}

/** Users as administrators see them, to be narrowed down; the passwords' hashes stay where they are. */
export function selectUsers(db: Db) {
  // Counted for all users at once: one by one, each count may read all the keys that somebody else has.
  const counted = db
    .select({ ownerId: apiKeys.ownerId, total: count().as("total") })
    .from(apiKeys)
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
      keyCount: sql<number>`coalesce(${counted.total}, 0)`.mapWith(Number),
    })
    .from(users)
    .leftJoin(counted, eq(counted.ownerId, users.id));
}
