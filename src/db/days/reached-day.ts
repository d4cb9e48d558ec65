import type { Db } from "../context.ts";
import { DAY_MS, type DayTable, listDays } from "./day-table.ts";

/** A gateway that was off for longer is rarer than a clock that is wrong. */
const GAP_MAX_MS = 31 * DAY_MS;
/** Time to notice a wrong clock, and to set it: at least 24 hours from the first look. */
const HELD_MS = 2 * DAY_MS;

/**
 * Returns whether the gateway has reached the day by running, so that what is past its retention may be dropped. Each
 * day on which it runs has a partition, so a clock that leaps shows as a gap of more than 31 days between partitions; the
 * days after it count once the clock has stayed there for two days. A clock that is years ahead for an hour, after a
 * start without its battery, then drops nothing.
 * @param today The beginning of a UTC day that has its partition, in Unix milliseconds.
 */
export async function isReachedDay(
  db: Db,
  table: Pick<DayTable, "name">,
  today: number,
): Promise<boolean> {
  let first = today;
  for (const day of (await listDays(db, table)).toReversed()) {
    if (day > today) continue;
    if (first - day > GAP_MAX_MS) return today - first >= HELD_MS;
    first = day;
  }
  return true;
}
