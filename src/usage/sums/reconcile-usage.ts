import type { UsageReading } from "../reports/read-usage-report.ts";
import type { TimeRange } from "../reports/search-backwards.ts";
import {
  type AskDatabase,
  compareDay,
  compareHour,
  compareModelHour,
  compareMonth,
  type UsageDifference,
  type UsageDifferences,
} from "./compare-usage.ts";
import { firstKeptDay } from "./first-kept-day.ts";
import { DAY_MS, dayOf, listUsageDays } from "./usage-days.ts";

const HOUR_MS = 60 * 60 * 1_000;
/** So many differences are told one by one; all are counted. */
const SHOWN_MAX = 1_000;

/** How the sums of a range stand to the rows they were made from. */
export interface Reconciliation extends TimeRange {
  /** Hours that were compared with their rows, all of them over. Of a day whose rows are not there, none was. */
  readonly hours: number;
  /** Days, begun or over, that were compared with their hours: not one whose hours are wrong themselves. */
  readonly days: number;
  /** Months, begun or over, that were compared with their hours: not one whose hours are wrong themselves. */
  readonly months: number;
  readonly mismatches: number;
  /** The first thousand, hours before days, days before months. */
  readonly differences: readonly UsageDifference[];
}

/**
 * Compares the sums by hour with the rows for each hour of a range that is over and whose rows are kept, those over all
 * keys with those of the keys where these agree, and then the sums of each day and month that the range touches with
 * those of its hours. One hour, day or month at a time: short statements, that wait for nothing and hold up nothing. It
 * repairs nothing.
 */
export async function reconcileUsage(
  reading: Pick<UsageReading, "clock" | "retentionDays"> & { readonly ask: AskDatabase },
  asked: TimeRange,
): Promise<Reconciliation> {
  const { hours, days, ...range } = await storedTime(reading, asked);
  const found = { days: 0, months: 0, mismatches: 0, differences: [] as UsageDifference[] };
  const wrongHours: number[] = [];
  const add = ({ mismatches, shown }: UsageDifferences) => {
    found.mismatches += mismatches;
    found.differences.push(...shown);
  };
  // One is looked for even when no more are shown: it tells how many there are.
  const left = () => Math.max(1, SHOWN_MAX - found.differences.length);
  for (const hour of hours) {
    const compared = await compareHour(reading.ask, hour, left());
    add(compared);
    if (compared.mismatches > 0) wrongHours.push(hour.from);
    else add(await compareModelHour(reading.ask, hour, left()));
  }
  const hasWrongHours = ({ from, to }: TimeRange) =>
    wrongHours.some((hour) => from <= hour && hour < to);
  for (const day of days) {
    if (hasWrongHours(day)) continue;
    add(await compareDay(reading.ask, day, left()));
    found.days += 1;
  }
  for (const month of monthsOf(range)) {
    if (hasWrongHours(month)) continue;
    add(await compareMonth(reading.ask, month, left()));
    found.months += 1;
  }
  return {
    ...range,
    hours: hours.length,
    days: found.days,
    months: found.months,
    mismatches: found.mismatches,
    differences: found.differences.slice(0, SHOWN_MAX),
  };
}

/** What can be compared of a range, which may have days in between that cannot. */
interface StoredTime extends TimeRange {
  readonly hours: readonly TimeRange[];
  /** The days of UTC that they are of. */
  readonly days: readonly TimeRange[];
}

/**
 * Of the comparable hours of a range those whose day has its partition: what was dropped under a shorter retention has
 * none, and is in the sums alone. A row of such a day that came late, and is kept with those of other days, says nothing
 * of the day's others.
 */
export async function storedTime(
  reading: Pick<UsageReading, "clock" | "retentionDays"> & { readonly ask: AskDatabase },
  asked: TimeRange,
): Promise<StoredTime> {
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

/** The whole hours of a range that are over and whose rows are all kept; `from` and `to` are the same when there are none. */
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
