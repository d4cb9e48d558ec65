import { asc, desc, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { ServiceError } from "../core/service-error.ts";

/** A part of a list that is ordered by the time of creation, then by id. */
export interface Cursor {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the entry before the page. */
  readonly after?: string | undefined;
  /** The id of the entry behind the page. Without `after` the page is the one directly before it. */
  readonly before?: string | undefined;
}

export interface CursorPage<Item> {
  readonly items: readonly Item[];
  /** There are further entries in the requested direction. */
  readonly hasMore: boolean;
}

interface CursorList<Item> {
  readonly createdAt: PgColumn;
  readonly id: PgColumn;
  /** Returns when the entry of this id was created; undefined for one that is not in the list. */
  readonly findTime: (id: string) => Promise<Date | undefined>;
  /** Reads entries. */
  readonly read: (part: {
    readonly where: readonly SQL[];
    readonly orderBy: SQL[];
    readonly limit: number;
  }) => Promise<readonly Item[]>;
}

/**
 * Reads a page by the place of its neighbours, so that entries which come or go meanwhile neither repeat nor hide
 * others. Rejects with `invalid_value` for a cursor that is not in the list.
 */
export async function readCursorPage<Item>(
  { limit, order, after, before }: Cursor,
  { createdAt, id, findTime, read }: CursorList<Item>,
): Promise<CursorPage<Item>> {
  const isBackwards = before !== undefined && after === undefined;
  const isAscending = (order === "asc") !== isBackwards;
  const beyond = async (name: "after" | "before", cursor: string | undefined) => {
    if (cursor === undefined) return [];
    const time = await findTime(cursor);
    if (time === undefined) throw unknownCursor(name);
    const sign = (name === "after") === (order === "asc") ? sql`>` : sql`<`;
    const place = sql`(${time.toISOString()}::timestamptz, ${cursor}::text)`;
    return [sql`(${createdAt}, ${id}) ${sign} ${place}`];
  };
  const direction = isAscending ? asc : desc;
  const found = await read({
    where: [...(await beyond("after", after)), ...(await beyond("before", before))],
    orderBy: [direction(createdAt), direction(id)],
    limit: limit + 1,
  });
  const items = found.slice(0, limit);
  return { items: isBackwards ? items.reverse() : items, hasMore: found.length > limit };
}

function unknownCursor(name: "after" | "before"): ServiceError {
  return new ServiceError("invalid_value", `'${name}' is not the id of an entry of this list.`, {
    param: name,
  });
}
