import { count, desc, eq, ilike, or } from "drizzle-orm";
import { escapeLike } from "../../db/escape-like.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import type { Access } from "../access.ts";
import { BI_KEY_COLUMNS, type BiKey } from "./bi-key.ts";

export interface BiKeyQuery {
  /** A part of the name in any case, a whole id, or the last four characters. */
  readonly search?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface BiKeyList {
  readonly keys: readonly BiKey[];
  /** How many there are on all pages. */
  readonly total: number;
}

/** The newest first. */
export function listBiKeys(
  { database }: Pick<Access, "database">,
  { search, limit, offset }: BiKeyQuery,
): Promise<BiKeyList> {
  const isFound =
    search === undefined
      ? undefined
      : or(
          ilike(biKeys.name, `%${escapeLike(search)}%`),
          eq(biKeys.id, search),
          eq(biKeys.lastFour, search),
        );
  return database.ask(async (db) => {
    const [counted] = await db.select({ total: count() }).from(biKeys).where(isFound);
    const keys = await db
      .select(BI_KEY_COLUMNS)
      .from(biKeys)
      .where(isFound)
      .orderBy(desc(biKeys.createdAt), desc(biKeys.id))
      .limit(limit)
      .offset(offset);
    return { keys, total: counted?.total ?? 0 };
  });
}
