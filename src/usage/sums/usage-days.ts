import type { Db } from "../../db/context.ts";
import { DAY_MS, type DayTable, dayOf, listDays, nameOfDay } from "../../db/days/day-table.ts";
import { makeDays } from "../../db/days/make-days.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";

/** The single usage records. */
export const USAGE_RECORDS: DayTable = {
  name: "usage_records",
  column: "started_at",
  lock: ADVISORY_LOCK.usageUpkeep,
  movedRowsMax: 100_000,
};

/** Returns the name of the partition that holds a UTC day. */
export function dayTable(day: number): string {
  return nameOfDay(USAGE_RECORDS, day);
}

/** Lists the UTC days that have a partition of their own, in Unix milliseconds, the earliest first. */
export function listUsageDays(db: Db): Promise<readonly number[]> {
  return listDays(db, USAGE_RECORDS);
}

/** As `makeDays`. */
export function makeUsageDays(db: Db, now: number): Promise<boolean> {
  return makeDays(db, USAGE_RECORDS, now);
}

/**
 * Returns the beginning of the first UTC day whose single rows are all kept and whose sums are hourly. A day is dropped
 * when its last row is USAGE_RETENTION_DAYS old. All times are Unix milliseconds.
 */
export function firstKeptDay(now: number, retentionDays: number): number {
  return dayOf(now) - retentionDays * DAY_MS;
}
