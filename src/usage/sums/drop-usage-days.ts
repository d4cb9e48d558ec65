import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { usageDays } from "../../db/tables/usage.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";
import { dayTable, listUsageDays, OTHER_DAYS } from "./usage-days.ts";

/** To drop a day locks the whole table for a moment: who wants to insert or to read waits that long at most. */
const LOCK_TIMEOUT_MS = 200;
const DELETED_ROWS = 2_000;
/** More rows than that wait for the next purge. */
const DELETES_MAX = 500;

/** What a purge has taken away. */
export interface Dropped {
  readonly days: number;
  readonly rows: number;
  /** False when something is left that may go: somebody reads it, or it is too much for one purge. */
  readonly isDone: boolean;
}

/**
 * Drops the UTC days before `cutoff`, a day's beginning: each as a whole, or the rows of a day without a partition in
 * small batches. A day that somebody reads is left for the next time.
 */
export async function dropUsageDays(db: Db, cutoff: number): Promise<Dropped> {
  const old = (await listUsageDays(db)).filter((day) => day < cutoff);
  let days = 0;
  let rows = 0;
  let isDone = true;
  for (const day of old) {
    let dropped: number | undefined;
    const isGone = await withUpkeepLock(db, LOCK_TIMEOUT_MS, async (transaction) => {
      dropped = await dropDay(transaction, day);
    });
    if (!isGone) isDone = false;
    else if (dropped !== undefined) {
      days += 1;
      rows += dropped;
    }
  }
  const strays = await deleteStrays(db, cutoff);
  return { days, rows: rows + strays.rows, isDone: isDone && strays.isDone };
}

/** The number of its rows, as its sums tell; undefined when another replica was faster. */
async function dropDay(transaction: Db, day: number): Promise<number | undefined> {
  const name = dayTable(day);
  const table = sql.identifier(name);
  const [present] = await transaction.execute<{ is_there: boolean }>(
    sql`select to_regclass(${name}) is not null as is_there`,
  );
  if (present?.is_there !== true) return undefined;
  // Its sums tell at once, and a day may have so many rows that to count them takes too long.
  const [counted] = await transaction.execute<{ rows: number }>(sql`
    select coalesce(sum(requests), 0)::float8 as rows from ${usageDays}
    where day = ${new Date(day).toISOString()}::timestamptz`);
  await transaction.execute(sql`drop table ${table}`);
  return counted?.rows ?? 0;
}

async function deleteStrays(db: Db, cutoff: number): Promise<Pick<Dropped, "rows" | "isDone">> {
  const before = new Date(cutoff).toISOString();
  let rows = 0;
  for (let deletes = 0; deletes < DELETES_MAX; deletes += 1) {
    const deleted = await db.execute(sql`
      delete from ${OTHER_DAYS} where ctid = any(array(
        select ctid from ${OTHER_DAYS} where started_at < ${before} order by started_at limit ${DELETED_ROWS}
      )) returning 1`);
    rows += deleted.length;
    if (deleted.length < DELETED_ROWS) return { rows, isDone: true };
  }
  return { rows, isDone: false };
}
