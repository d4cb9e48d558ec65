import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { refuseBoundKeyHere, visibleTo } from "../rights.ts";
import type { Assistant } from "./assistant.ts";
import { readAssistant, toAssistant } from "./assistant-record.ts";
import type { Assistants } from "./assistants.ts";

export interface AssistantQuery {
  readonly limit: number;
  /** By the time of creation. */
  readonly order: "asc" | "desc";
  /** The id before the page. */
  readonly after?: string | undefined;
  /** The id behind the page; ignored beside `after`. */
  readonly before?: string | undefined;
}

export interface AssistantPage {
  readonly assistants: readonly Assistant[];
  /** There are further ones in the direction of the page. */
  readonly hasMore: boolean;
}

/** Rejects with `not_found`, and with `insufficient_permission` for a bound key. */
export async function findAssistant(
  { database }: Pick<Assistants, "database">,
  caller: Caller,
  id: string,
): Promise<Assistant> {
  refuseBoundKeyHere(caller);
  return database.ask((db) => readAssistant(db, caller, id));
}

/**
 * Lists the assistants that a caller may use. Rejects with `invalid_value` for a place that is not in the list, and with
 * `insufficient_permission` for a bound key.
 */
export async function listAssistants(
  { database }: Pick<Assistants, "database">,
  caller: Caller,
  { limit, order, after, before }: AssistantQuery,
): Promise<AssistantPage> {
  refuseBoundKeyHere(caller);
  const isBack = after === undefined && before !== undefined;
  const place = after ?? before;
  // A page before a place is read from there, against the order.
  const isUp = (order === "asc") !== isBack;
  const direction = isUp ? asc : desc;
  return database.ask(async (db) => {
    if (place !== undefined) await requirePlace(db, caller, { place, isBack });
    const rows = await db
      .select()
      .from(assistants)
      .where(
        and(visibleTo(assistants, caller), place === undefined ? undefined : isBeyond(place, isUp)),
      )
      .orderBy(direction(assistants.createdAt), direction(assistants.id))
      .limit(limit + 1);
    const page = rows.slice(0, limit).map(toAssistant);
    return { assistants: isBack ? page.reverse() : page, hasMore: rows.length > limit };
  });
}

function isBeyond(place: string, isUp: boolean) {
  const sign = isUp ? sql`>` : sql`<`;
  return sql`(${assistants.createdAt}, ${assistants.id}) ${sign} (
    select place.created_at, place.id from ${assistants} as place where place.id = ${place}
  )`;
}

async function requirePlace(
  db: Db,
  caller: Caller,
  { place, isBack }: { readonly place: string; readonly isBack: boolean },
): Promise<void> {
  const [row] = await db
    .select({ id: assistants.id })
    .from(assistants)
    .where(and(eq(assistants.id, place), visibleTo(assistants, caller)));
  if (row !== undefined) return;
  const param = isBack ? "before" : "after";
  throw new ServiceError("invalid_value", `'${param}' must be the id of a listed assistant.`, {
    param,
  });
}
