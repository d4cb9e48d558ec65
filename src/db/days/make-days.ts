import { sql } from "drizzle-orm";
import type { Db } from "../context.ts";
import { DAY_MS, type DayTable, dayOf, listDays, nameOfDay, otherDays } from "./day-table.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";

/** Today and the next two days: if the gateway's jobs stop for a day, the partition still exists. */
const DAYS_AHEAD = 2;
/** Rows that arrive in the meantime wait at most this long, and then for a moment. */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * Creates the missing partitions of today and the next days; one query when all exist. Rows of such a day that arrived
 * before its partition are moved into it. A day that cannot have its partition now gets it later; its rows are safe in
 * the partition of other days.
 * @param now Unix milliseconds.
 * @returns false when a day has to wait for the next attempt.
 */
export async function makeDays(db: Db, table: DayTable, now: number): Promise<boolean> {
  if ((await missingDays(db, table, now)).length === 0) return true;
  const lock = { lock: table.lock, timeoutMs: LOCK_TIMEOUT_MS };
  return withUpkeepLock(db, lock, async (transaction) => {
    // Another replica may have created them since.
    for (const day of await missingDays(transaction, table, now)) {
      await makeDay(transaction, table, day);
    }
  });
}

async function missingDays(db: Db, table: DayTable, now: number): Promise<readonly number[]> {
  const made = new Set(await listDays(db, table));
  const wanted = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => dayOf(now) + ahead * DAY_MS);
  return wanted.filter((day) => !made.has(day));
}

/**
 * Creates the partition separately and then attaches it: that locks only the rows of other days, and does not block
 * readers or writers of the whole table. The lock comes first, so that no row of the day arrives between the move and
 * the attachment.
 */
async function makeDay(transaction: Db, table: DayTable, day: number): Promise<void> {
  const [whole, column] = [sql.identifier(table.name), sql.identifier(table.column)];
  const [partition, others] = [sql.identifier(nameOfDay(table, day)), otherDays(table)];
  const [from, to] = [day, day + DAY_MS].map((at) => sql.raw(`'${new Date(at).toISOString()}'`));
  const isOfDay = sql`${column} >= ${from} and ${column} < ${to}`;
  await transaction.execute(sql`lock table ${others} in access exclusive mode`);
  const [strays] = await transaction.execute<{ rows: number }>(sql`
    select count(*)::int as rows
    from (select from ${others} where ${isOfDay} limit ${table.movedRowsMax + 1}) as strays`);
  const rows = strays?.rows ?? 0;
  if (rows > table.movedRowsMax) return;
  await transaction.execute(sql`
    create table ${partition} (like ${whole} including defaults including indexes including storage)`);
  if (rows > 0) {
    await transaction.execute(sql`
      with moved as (delete from ${others} where ${isOfDay} returning *)
      insert into ${partition} select * from moved`);
  }
  await transaction.execute(
    sql`alter table ${whole} attach partition ${partition} for values from (${from}) to (${to})`,
  );
}
