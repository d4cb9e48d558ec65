import { and, asc, eq, gt } from "drizzle-orm";
import type { Ask } from "../../../db/database.ts";
import { apiKeys, deletedApiKeys } from "../../../db/tables/api-keys.ts";
import { changeCounters } from "../../../db/tables/change-counters.ts";
import { users } from "../../../db/tables/users.ts";
import type { KeyCache } from "./key-cache.ts";
import { PRUNED_COUNTER } from "./prune-deleted-keys.ts";

/** Rows read in one go: 100,000 keys are not to be in memory twice. */
const PAGE_ROWS = 5_000;

/**
 * Brings into the cache what has changed after change `from`, and returns the change it is now up to: all committed
 * before the call is in it. Every page is asked for by itself, so that no query is long and nothing goes on reading
 * behind a failure. Changes are numbered in commit order, so nothing below the counter is still to come.
 *
 * @param from 0 for an empty cache.
 * @returns undefined when what was deleted since `from` is no longer known: everything is to be read anew.
 */
export async function readKeyChanges(
  ask: Ask,
  cache: KeyCache,
  from: number,
): Promise<number | undefined> {
  const upTo = await readCounter(ask, "api_keys");
  if (upTo === from) return from;
  // The database was set back to an earlier state.
  if (upTo < from) return undefined;
  await readRows(ask, cache, from);
  if (from > 0) {
    // Deletions are read last, so that no row read before can come after them.
    await readDeletions(ask, cache, from);
    if ((await readCounter(ask, PRUNED_COUNTER)) > from) return undefined;
  }
  return upTo;
}

async function readCounter(ask: Ask, name: string): Promise<number> {
  const [counter] = await ask((db) =>
    db
      .select({ seq: changeCounters.seq })
      .from(changeCounters)
      .where(eq(changeCounters.name, name)),
  );
  return counter?.seq ?? 0;
}

/** Also what has changed after the counter was read: a row that changed twice is never passed over. */
async function readRows(ask: Ask, cache: KeyCache, from: number): Promise<void> {
  let lastId = "";
  // Without it the database walks the whole table by id, instead of sorting it for every page.
  const isChanged = from === 0 ? undefined : gt(apiKeys.changeSeq, from);
  for (;;) {
    const rows = await ask((db) =>
      db
        .select({ key: apiKeys, ownerRole: users.role, ownerState: users.state })
        .from(apiKeys)
        .innerJoin(users, eq(users.id, apiKeys.ownerId))
        .where(and(isChanged, gt(apiKeys.id, lastId)))
        .orderBy(asc(apiKeys.id))
        .limit(PAGE_ROWS),
    );
    for (const { key, ownerRole, ownerState } of rows) {
      cache.apply({ ...key, ownerRole, isOwnerDisabled: ownerState === "disabled" });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    lastId = last.key.id;
  }
}

async function readDeletions(ask: Ask, cache: KeyCache, from: number): Promise<void> {
  const deleted = await ask((db) =>
    db
      .select({ id: deletedApiKeys.id })
      .from(deletedApiKeys)
      .where(gt(deletedApiKeys.changeSeq, from)),
  );
  for (const { id } of deleted) cache.remove(id);
}
