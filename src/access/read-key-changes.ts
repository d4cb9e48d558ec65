import { and, asc, eq, gt, lte } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys, deletedApiKeys } from "../db/tables/api-keys.ts";
import { changeCounters } from "../db/tables/change-counters.ts";
import type { KeyCache } from "./key-cache.ts";

/** Rows read in one go: 100,000 keys are not to be in memory twice. */
const PAGE_ROWS = 5_000;

/**
 * Brings into the cache what has changed after change `from`, and returns the change it is now up to.
 * Changes are numbered in commit order, so nothing below the counter is still to come.
 */
export async function readKeyChanges(db: Db, cache: KeyCache, from: number): Promise<number> {
  const [counter] = await db
    .select({ seq: changeCounters.seq })
    .from(changeCounters)
    .where(eq(changeCounters.name, "api_keys"));
  const upTo = counter?.seq ?? 0;
  if (upTo <= from) return from;
  await readRows(db, cache, { from, upTo });
  const deleted = await db
    .select({ id: deletedApiKeys.id, changeSeq: deletedApiKeys.changeSeq })
    .from(deletedApiKeys)
    .where(gt(deletedApiKeys.changeSeq, from));
  for (const { id, changeSeq } of deleted) cache.remove(id, changeSeq);
  return upTo;
}

async function readRows(
  db: Db,
  cache: KeyCache,
  { from, upTo }: { readonly from: number; readonly upTo: number },
): Promise<void> {
  let lastId = "";
  for (;;) {
    const rows = await db
      .select()
      .from(apiKeys)
      .where(and(gt(apiKeys.changeSeq, from), lte(apiKeys.changeSeq, upTo), gt(apiKeys.id, lastId)))
      .orderBy(asc(apiKeys.id))
      .limit(PAGE_ROWS);
    for (const row of rows) cache.apply(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    lastId = last.id;
  }
}
