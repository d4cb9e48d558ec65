import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { DAY_MS } from "../../db/days/day-table.ts";
import { withUpkeepLock } from "../../db/days/upkeep-lock.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { limitRefusals, modelHours, usageHours } from "../../db/tables/usage.ts";
import { addFigures, eachFigure, HOUR_FIGURES, KEY_HOUR_FIGURES, listOf } from "./usage-sums.ts";

/** A table of hourly sums, and the columns that identify its rows besides the hour. */
interface HourSums {
  readonly table: typeof usageHours | typeof modelHours | typeof limitRefusals;
  readonly keys: readonly string[];
  readonly figures: readonly string[];
}

const USAGE: HourSums = {
  table: usageHours,
  keys: ["key_id", "model", "channel"],
  figures: KEY_HOUR_FIGURES,
};
const MODELS: HourSums = { table: modelHours, keys: ["model", "channel"], figures: HOUR_FIGURES };
const REFUSALS: HourSums = {
  table: limitRefusals,
  keys: ["key_id", "channel", "code"],
  figures: ["refusals"],
};

const LOCK = { lock: ADVISORY_LOCK.usageUpkeep, timeoutMs: 1_000 };
/** Earlier days beyond this number wait for the next time. */
const DAYS_MAX = 1_000;

/**
 * Adds up the hours of each UTC day before `cutoff`, a day's beginning, into one row per key, model and channel, whose
 * hour is the day's first. Reports by day and month do not change, and years of sums stay small. One transaction per
 * day.
 * @returns false when days are left for the next time.
 */
export function foldUsageHours(db: Db, cutoff: number): Promise<boolean> {
  return foldHours(db, cutoff, USAGE);
}

/** Does the same for the sums over all keys: one row per model and channel. */
export function foldModelHours(db: Db, cutoff: number): Promise<boolean> {
  return foldHours(db, cutoff, MODELS);
}

/** Does the same for the refusals of limits, by key, channel and code. */
export function foldRefusalHours(db: Db, cutoff: number): Promise<boolean> {
  return foldHours(db, cutoff, REFUSALS);
}

async function foldHours(db: Db, cutoff: number, sums: HourSums): Promise<boolean> {
  const days = await daysWithHours(db, cutoff, sums);
  for (const day of days) {
    const isFolded = await withUpkeepLock(db, LOCK, (transaction) =>
      foldDay(transaction, day, sums),
    );
    if (!isFolded) return false;
  }
  return days.length < DAYS_MAX;
}

/** Searches each day by its index instead of reading all rows: after the first time few days have hours left. */
async function daysWithHours(
  db: Db,
  cutoff: number,
  { table }: HourSums,
): Promise<readonly number[]> {
  const rows = await db.execute<{ day: number }>(sql`
    select (extract(epoch from day) * 1000)::float8 as day
    from generate_series(
      (select date_trunc('day', min(hour), 'UTC') from ${table}), to_timestamp(${cutoff - DAY_MS}::float8 / 1000),
      interval '24 hours'
    ) as day
    where exists (
      select from ${table} where hour > day and hour < day + interval '24 hours'
    )
    order by 1
    limit ${DAYS_MAX}`);
  return rows.map(({ day }) => day);
}

/**
 * Rows are locked in the order of their keys, as the statements that add to the hours do. Late rows, from a journal
 * that was found late, wait for this transaction instead of deadlocking with it.
 */
async function foldDay(transaction: Db, day: number, sums: HourSums): Promise<void> {
  const { table } = sums;
  const keys = listOf(sums.keys);
  const figures = listOf(sums.figures);
  const first = sql`to_timestamp(${day}::float8 / 1000)`;
  const isOfDay = sql`hour >= ${first} and hour < ${first} + interval '24 hours'`;
  const isLater = sql`hour > ${first} and hour < ${first} + interval '24 hours'`;
  const nothing = eachFigure(sums.figures, () => sql`0`);
  const added = eachFigure(sums.figures, (column) => sql`sum(${column})`);
  // The upsert locks the existing rows and adds nothing.
  await transaction.execute(sql`
    insert into ${table} as present (hour, ${keys}, ${figures})
    select distinct ${first}, ${keys}, ${nothing} from ${table} where ${isOfDay} order by 1, ${keys}
    on conflict (hour, ${keys}) do update set ${addFigures(sums.figures)}`);
  await transaction.execute(sql`
    select from ${table} where ${isLater} order by hour, ${keys} for update`);
  await transaction.execute(sql`
    with hours as (delete from ${table} where ${isLater} returning *)
    insert into ${table} as present (hour, ${keys}, ${figures})
    select ${first}, ${keys}, ${added} from hours group by ${keys} order by ${keys}
    on conflict (hour, ${keys}) do update set ${addFigures(sums.figures)}`);
}
