import { asc, count, like } from "drizzle-orm";
import { escapeLike } from "../../db/escape-like.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import { selectUsers, type User } from "./user.ts";

export interface UserQuery {
  /** A part of the name, in any case; undefined is every user. */
  readonly search?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Users by name, and how many there are on all pages. */
export function listUsers(
  { database }: Access,
  { search, limit, offset }: UserQuery,
): Promise<{ readonly users: readonly User[]; readonly total: number }> {
  const condition =
    search === undefined
      ? undefined
      : like(users.username, `%${escapeLike(search.toLowerCase())}%`);
  return database.ask(async (db) => {
    const rows = await selectUsers(db)
      .where(condition)
      .orderBy(asc(users.username))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(users).where(condition);
    return { users: rows, total: counted?.total ?? 0 };
  });
}
