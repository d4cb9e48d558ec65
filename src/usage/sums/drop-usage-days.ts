import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { usageDays } from "../../db/tables/usage.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";
import { dayTable, listUsageDays, OTHER_DAYS } from "./usage-days.ts";

/** Dropping a day locks the whole table for a moment: inserts and reads wait at most this long. */
const LOCK_TIMEOUT_MS = 200;
const DELETED_ROWS = 2_000;
/** Rows beyond this number wait for the next purge. */
const DELETES_MAX = 500;

/** The number of days and rows that a purge removed. */
export interface Dropped {
  readonly days: number;
  readonly rows: number;
  /** False when something is left to drop: a reader holds it, or it is too much for one purge. */
  readonly isDone: boolean;
}

/**
 * Drops the UTC days before `cutoff`, a day's beginning: each as a whole, or the rows of a day without a partition in
 * small batches. A day that is being read is left for the next time.
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

/** Returns the number of its rows, from its sums; undefined when another replica was faster. */
async function dropDay(transaction: Db, day: number): Promise<number | undefined> {
  const name = dayTable(day);
  const table = sql.identifier(name);
  const [present] = await transaction.execute<{ is_there: boolean }>(
    sql`select to_regclass(${name}) is not null as is_there`,
  );
  if (present?.is_there !== true) return undefined;
  // The sums have the number at once; counting the rows of a large day takes too long.
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
