import { and, asc, eq, gt } from "drizzle-orm";
import type { Ask } from "../../../db/database.ts";
import { apiKeys, deletedApiKeys } from "../../../db/tables/api-keys.ts";
import { changeCounters } from "../../../db/tables/change-counters.ts";
import { users } from "../../../db/tables/users.ts";
import type { KeyCache } from "./key-cache.ts";
import { PRUNED_COUNTER } from "./prune-deleted-keys.ts";

const OWNER_FIELDS = {
  role: users.role,
  state: users.state,
  ownerMonthlyTokenLimit: users.monthlyTokenLimit,
  ownerRpmLimit: users.rpmLimit,
};

/** The number of rows read at once, so that 100,000 keys are not in memory twice. */
const PAGE_ROWS = 5_000;

/**
 * Applies all changes after change `from` to the cache. Returns the number of the change up to which the cache is
 * complete, which covers everything committed before the call. Each page is a separate query, so that no query is long
 * and a failure ends the reading. Changes are numbered in commit order, so no change below the counter can appear
 * later.
 *
 * @param from is 0 for an empty cache.
 * @returns undefined when the deletions since `from` have been pruned: all keys must be read again.
 */
export async function readKeyChanges(
  ask: Ask,
  cache: KeyCache,
  from: number,
): Promise<number | undefined> {
  const upTo = await readCounter(ask, "api_keys");
  if (upTo === from) return from;
  // The database was restored to an earlier state.
  if (upTo < from) return undefined;
  await readRows(ask, cache, from);
  if (from > 0) {
    // Deletions are read last, so that no row read earlier can be newer than its deletion.
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

/** Reads also the changes after the counter was read, so that a row that changed twice is never missed. */
async function readRows(ask: Ask, cache: KeyCache, from: number): Promise<void> {
  let lastId = "";
  // Without the condition the database scans the table by id, instead of sorting it for every page.
  const isChanged = from === 0 ? undefined : gt(apiKeys.changeSeq, from);
  for (;;) {
    const rows = await ask((db) =>
      db
        .select({ key: apiKeys, owner: OWNER_FIELDS })
        .from(apiKeys)
        .innerJoin(users, eq(users.id, apiKeys.ownerId))
        .where(and(isChanged, gt(apiKeys.id, lastId)))
        .orderBy(asc(apiKeys.id))
        .limit(PAGE_ROWS),
    );
    for (const { key, owner } of rows) {
      const { role: ownerRole, state, ...ownerLimits } = owner;
      cache.apply({ ...key, ...ownerLimits, ownerRole, isOwnerDisabled: state === "disabled" });
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
