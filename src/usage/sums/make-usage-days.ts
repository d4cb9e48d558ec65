import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";
import { DAY_MS, dayOf, dayTable, listUsageDays, OTHER_DAYS } from "./usage-days.ts";

/** Today and the next two days: if the gateway's jobs stop for a day, the partition still exists. */
const DAYS_AHEAD = 2;
/** Rows that arrive in the meantime wait at most this long, and then for a moment. */
const LOCK_TIMEOUT_MS = 1_000;
/**
 * A day that got more rows before its partition stays in the partition of other days: moving them would take too long.
 */
const MOVED_ROWS_MAX = 100_000;

/**
 * Creates the missing partitions of today and the next days; one query when all exist. Rows of such a day that arrived
 * before its partition are moved into it. A day that cannot have its partition now gets it later; its rows are safe in
 * the partition of other days.
 * @param now Unix milliseconds.
 * @returns false when a day has to wait for the next attempt.
 */
export async function makeUsageDays(db: Db, now: number): Promise<boolean> {
  if ((await missingDays(db, now)).length === 0) return true;
  return withUpkeepLock(db, LOCK_TIMEOUT_MS, async (transaction) => {
    // Another replica may have created them since.
    for (const day of await missingDays(transaction, now)) await makeDay(transaction, day);
  });
}

async function missingDays(db: Db, now: number): Promise<readonly number[]> {
  const made = new Set(await listUsageDays(db));
  const wanted = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => dayOf(now) + ahead * DAY_MS);
  return wanted.filter((day) => !made.has(day));
}

/**
 * Creates the partition separately and then attaches it: that locks only the rows of other days, and does not block
 * readers or writers of the whole table. The lock comes first, so that no row of the day arrives between the move and
 * the attachment.
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
