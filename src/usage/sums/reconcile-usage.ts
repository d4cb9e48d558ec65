import type { Db } from "../../db/context.ts";
import type { UsageReading } from "../reports/read-usage-report.ts";
import type { TimeRange } from "../reports/search-newest-first.ts";
import { compareSums, type UsageDifference } from "./compare-sums.ts";
import { DAY_MS, dayOf, firstKeptDay, listUsageDays } from "./usage-days.ts";
import { DAYS, HOURS, MODEL_HOURS, MONTHS, type UsageSums } from "./usage-sums.ts";

const HOUR_MS = 60 * 60 * 1_000;
/** So many differences are reported one by one; all are counted. */
const SHOWN_MAX = 1_000;

/** Asks the database: queries of callers wait in their own line, those of a job do not. */
export type AskDatabase = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;

/** How the sums of a range compare to the rows they were made from. */
export interface Reconciliation extends TimeRange {
  /** Hours that were compared with their rows. All are over, and their rows retained. */
  readonly hours: number;
  /** Days and months, in progress or over, that were compared with their hours: none whose hours are wrong themselves. */
  readonly days: number;
  readonly months: number;
  readonly mismatches: number;
  /** The first thousand, hours before days, days before months. */
  readonly differences: readonly UsageDifference[];
}

type Reconciling = Pick<UsageReading, "clock" | "retentionDays"> & { readonly ask: AskDatabase };

/**
 * Compares the sums by hour with the rows for each hour of a range that is over and whose rows are retained, those over
 * all keys with those of the keys where these agree, and then each day and month that the range touches with its hours.
 * One hour, day or month at a time, so that no statement is long. It repairs nothing.
 */
export async function reconcileUsage(
  reading: Reconciling,
  asked: TimeRange,
): Promise<Reconciliation> {
  const { hours, days, ...range } = await storedTime(reading, asked);
  const found = { days: 0, months: 0, mismatches: 0, differences: [] as UsageDifference[] };
  const wrongHours: number[] = [];
  const compare = async (sums: UsageSums, period: TimeRange) => {
    // At least one row is read even when no more are shown: it carries their number.
    const limit = Math.max(1, SHOWN_MAX - found.differences.length);
    const { mismatches, shown } = await reading.ask((db) =>
      compareSums(db, sums, { period, limit }),
    );
    found.mismatches += mismatches;
    found.differences.push(...shown);
    return mismatches === 0;
  };
  for (const hour of hours) {
    if (await compare(HOURS, hour)) await compare(MODEL_HOURS, hour);
    else wrongHours.push(hour.from);
  }
  const hasRightHours = ({ from, to }: TimeRange) =>
    !wrongHours.some((hour) => from <= hour && hour < to);
  for (const day of days.filter(hasRightHours)) {
    await compare(DAYS, day);
    found.days += 1;
  }
  for (const month of monthsOf(range).filter(hasRightHours)) {
    await compare(MONTHS, month);
    found.months += 1;
  }
  const differences = found.differences.slice(0, SHOWN_MAX);
  return { ...range, ...found, hours: hours.length, differences };
}

/** What can be compared of a range; days in between may be missing. */
interface StoredTime extends TimeRange {
  readonly hours: readonly TimeRange[];
  /** The days of UTC that they are of. */
  readonly days: readonly TimeRange[];
}

/**
 * The comparable hours of a range whose day has its partition. What was dropped under a shorter retention has none and
 * is only in the sums; a row of such a day that came late says nothing of the day's other rows.
 */
export async function storedTime(reading: Reconciling, asked: TimeRange): Promise<StoredTime> {
  const stored = new Set(await reading.ask(listUsageDays));
  const isStored = ({ from }: TimeRange) => stored.has(dayOf(from));
  const range = comparableRange(reading, asked);
  const hours = hoursOf(range).filter(isStored);
  return {
    from: hours[0]?.from ?? range.to,
    to: range.to,
    hours,
    days: daysOf(range).filter(isStored),
  };
}

/** The whole hours of a range that are over and whose rows are all retained; `from` equals `to` when there are none. */
export function comparableRange(
  { clock, retentionDays }: Pick<UsageReading, "clock" | "retentionDays">,
  { from, to }: TimeRange,
): TimeRange {
  const now = clock.now();
  const first = Math.max(Math.ceil(from / HOUR_MS) * HOUR_MS, firstKeptDay(now, retentionDays));
  const end = Math.floor(Math.min(to, now) / HOUR_MS) * HOUR_MS;
  return { from: first, to: Math.max(first, end) };
}

/** The hours of a range, which begins and ends with one. */
function hoursOf({ from, to }: TimeRange): readonly TimeRange[] {
  return Array.from({ length: (to - from) / HOUR_MS }, (_, index) => {
    const hour = from + index * HOUR_MS;
    return { from: hour, to: hour + HOUR_MS };
  });
}

/** The days of UTC that a range touches. */
function daysOf({ from, to }: TimeRange): readonly TimeRange[] {
  if (from === to) return [];
  const first = dayOf(from);
  return Array.from({ length: Math.ceil((to - first) / DAY_MS) }, (_, index) => {
    const day = first + index * DAY_MS;
    return { from: day, to: day + DAY_MS };
  });
}

/** The months of UTC that a range touches. */
export function monthsOf({ from, to }: TimeRange): readonly TimeRange[] {
  const months: TimeRange[] = [];
  for (let time = from; time < to; ) {
    const date = new Date(time);
    const month = (later: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
    months.push({ from: month(0), to: month(1) });
    time = month(1);
  }
  return months;
}
