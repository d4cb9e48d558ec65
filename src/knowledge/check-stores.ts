import { and, inArray } from "drizzle-orm";
import type { Caller } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { vectorStores } from "../db/tables/knowledge.ts";
import type { Clock } from "../lib/time/clock.ts";
import { visibleTo } from "./rights.ts";
import { refuseExpired } from "./stores/stores.ts";

/**
 * Rejects with `not_found` for the first of the vector stores that does not exist for the caller, and with
 * `invalid_value` for one that has expired.
 */
export async function checkStores(
  { database, clock }: { readonly database: Pick<Database, "ask">; readonly clock: Clock },
  caller: Caller,
  ids: readonly string[],
): Promise<void> {
  const rows = await database.ask((db) =>
    db
      .select()
      .from(vectorStores)
      .where(and(inArray(vectorStores.id, [...ids]), visibleTo(vectorStores, caller))),
  );
  const usable = new Set(rows.map(({ id }) => id));
  for (const row of rows) refuseExpired(row, clock.now());
  const missing = ids.find((id) => !usable.has(id));
  if (missing === undefined) return;
  throw new ServiceError(
    "not_found",
    `There is no vector store '${missing.slice(0, 64)}'; see GET /v1/vector_stores.`,
    {
      param: "vector_store_ids",
    },
  );
}
