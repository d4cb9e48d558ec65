import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";
import { DAY_MS, dayOf, dayTable, listUsageDays, OTHER_DAYS } from "./usage-days.ts";

/** Today and the two next ones: a gateway whose jobs stand still for a day still finds its day. */
const DAYS_AHEAD = 2;
/** Rows that come meanwhile wait no longer than that, and then for a moment. */
const LOCK_TIMEOUT_MS = 1_000;
/** A day that got more rows before it got its partition is left with the others: to move them would take too long. */
const MOVED_ROWS_MAX = 100_000;

/**
 * Makes the partitions of today and the next days, where they are missing: one query when they are there. Rows of such
 * a day that came before its partition are moved into it. A day that cannot have its partition now gets it later; its
 * rows are safe with those of other days.
 *
 * @param now Unix milliseconds.
 * @returns false when a day has to wait for the next try.
 */
export async function makeUsageDays(db: Db, now: number): Promise<boolean> {
  if ((await missingDays(db, now)).length === 0) return true;
  return withUpkeepLock(db, LOCK_TIMEOUT_MS, async (transaction) => {
    // Another replica may have made them since.
    for (const day of await missingDays(transaction, now)) await makeDay(transaction, day);
  });
}

async function missingDays(db: Db, now: number): Promise<readonly number[]> {
  const made = new Set(await listUsageDays(db));
  const wanted = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => dayOf(now) + ahead * DAY_MS);
  return wanted.filter((day) => !made.has(day));
}

/**
 * Made apart and then attached: that locks the rows of other days alone, and the table as a whole against nobody who
 * reads or writes. The lock comes first, so that no row of the day comes between its move and its partition.
 */
async function makeDay(transaction: Db, day: number): Promise<void> {
  const table = sql.identifier(dayTable(day));
  const [from, to] = [day, day + DAY_MS].map((at) => sql.raw(`'${new Date(at).toISOString()}'`));
  const isOfDay = sql`started_at >= ${from} and started_at < ${to}`;
  await transaction.execute(sql`lock table ${OTHER_DAYS} in access exclusive mode`);
  const [strays] = await transaction.execute<{ rows: number }>(sql`
    select count(*)::int as rows
    from (select from ${OTHER_DAYS} where ${isOfDay} limit ${MOVED_ROWS_MAX + 1}) as strays`);
  const rows = strays?.rows ?? 0;
  if (rows > MOVED_ROWS_MAX) return;
  await transaction.execute(
    sql`create table ${table} (like usage_records including defaults including indexes)`,
  );
  if (rows > 0) {
    await transaction.execute(sql`
      with moved as (delete from ${OTHER_DAYS} where ${isOfDay} returning *)
      insert into ${table} select * from moved`);
  }
  await transaction.execute(
    sql`alter table usage_records attach partition ${table} for values from (${from}) to (${to})`,
  );
}
