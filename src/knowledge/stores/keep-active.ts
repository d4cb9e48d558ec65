import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { touchStores } from "./touch-stores.ts";

/** A store that is searched all the time is written once in this time. */
const PAUSE_MS = 60_000;
/** Stores that are remembered; beyond that some are written more often. */
const REMEMBERED = 10_000;

/**
 * Returns a function that records that stores were searched, which puts off their expiry. The search does not wait for
 * it: a write that fails is repeated after the next search.
 */
export function createKeepActive({
  database,
  clock,
}: {
  readonly database: Pick<Database, "askOwn">;
  readonly clock: Clock;
}): (storeIds: readonly string[]) => void {
  const touched = new Map<string, number>();
  return (storeIds) => {
    const now = clock.now();
    const due = storeIds.filter((id) => Math.abs(now - (touched.get(id) ?? 0)) >= PAUSE_MS);
    if (due.length === 0) return;
    if (touched.size > REMEMBERED) touched.clear();
    for (const id of due) touched.set(id, now);
    database
      .askOwn((db) => touchStores(db, due, now))
      .catch(() => {
        for (const id of due) touched.delete(id);
      });
  };
}
