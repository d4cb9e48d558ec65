import { DAY_MS, dayOf } from "./usage-days.ts";

/**
 * The beginning of the first UTC day whose single rows are all kept, and whose sums are by hour: a day goes when its
 * last row is USAGE_RETENTION_DAYS old. All in Unix milliseconds.
 */
export function firstKeptDay(now: number, retentionDays: number): number {
  return dayOf(now) - retentionDays * DAY_MS;
}
