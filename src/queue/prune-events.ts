import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";

const DAY_MS = 86_400_000;
/** Long enough to see what was sent of late. */
const KEEP_DELIVERED_MS = DAY_MS;
/** Long enough for somebody to look why. */
const KEEP_DEAD_MS = 30 * DAY_MS;
const BATCH_ROWS = 500;
/** The rest has time until the next call: in all far more is deleted than can be delivered. */
const LONGEST_MS = 30_000;

/**
 * Deletes events that are done with, in batches that hold up nobody. The batch is chosen once: as a subquery of the
 * condition PostgreSQL may choose it anew for every row.
 *
 * @param now Unix milliseconds.
 */
export async function pruneEvents(db: Db, now: number): Promise<void> {
  const before = (ageMs: number) => sql`${new Date(now - ageMs).toISOString()}::timestamptz`;
  const endsAt = performance.now() + LONGEST_MS;
  do {
    const deleted = await db.execute(sql`
      with old as materialized (
        select id from ${outboxEvents}
        where created_at < ${before(KEEP_DELIVERED_MS)}
          and (delivered_at < ${before(KEEP_DELIVERED_MS)} or dead_at < ${before(KEEP_DEAD_MS)})
        limit ${BATCH_ROWS}
        for update skip locked
      )
      delete from ${outboxEvents} as done using old where done.id = old.id
      returning done.id`);
    if (deleted.length < BATCH_ROWS) return;
  } while (performance.now() < endsAt);
}
