import type { Db } from "../../db/context.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import type { UsageReading } from "../reports/read-usage-report.ts";
import type { TimeRange } from "../reports/search-newest-first.ts";
import { compareSums, type UsageDifference } from "./compare-sums.ts";
import { firstKeptDay, listUsageDays } from "./usage-days.ts";
import { DAYS, HOURS, MODEL_HOURS, MONTHS, type UsageSums } from "./usage-sums.ts";

const HOUR_MS = 60 * 60 * 1_000;
/** Differences reported one by one; all are counted. */
const SHOWN_MAX = 1_000;

/** Runs a query: queries of callers wait in a queue of their own, those of a job do not. */
export type AskDatabase = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;

/** The comparison of the sums of a range with the rows they were made from. */
export interface Reconciliation extends TimeRange {
  /** Hours compared with their rows: past hours whose rows are retained. */
  readonly hours: number;
  /** Days and months, in progress or over, that were compared with their hours; those with wrong hours are left out. */
  readonly days: number;
  readonly months: number;
  readonly mismatches: number;
  /** The first thousand, hours before days, days before months. */
  readonly differences: readonly UsageDifference[];
}

type Reconciling = Pick<UsageReading, "clock" | "retentionDays"> & { readonly ask: AskDatabase };

/**
 * Compares the hourly sums with the rows for each past hour of a range whose rows are retained. Then it compares the
 * sums over all keys with those of the keys, where these agree, and each day and month that the range overlaps with its
 * hours. One hour, day or month per statement keeps statements short. It repairs nothing.
 */
export async function reconcileUsage(
  reading: Reconciling,
  asked: TimeRange,
): Promise<Reconciliation> {
  const { hours, days, ...range } = await storedTime(reading, asked);
  const found = { days: 0, months: 0, mismatches: 0, differences: [] as UsageDifference[] };
  const wrongHours: number[] = [];
  const compare = async (sums: UsageSums, period: TimeRange) => {
    // At least one row is read even when it will not be shown, because it carries the total number.
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

/** The comparable part of a range; days in between may be missing. */
interface StoredTime extends TimeRange {
  readonly hours: readonly TimeRange[];
  /** The UTC days of these hours. */
  readonly days: readonly TimeRange[];
}

/**
 * Returns the comparable hours of a range whose day has its partition. Rows dropped under a shorter retention have no
 * partition and exist only in the sums. A late row of such a day does not represent the day's other rows.
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

/**
 * Returns the whole past hours of a range whose rows are all retained; `from` equals `to` when there are no such hours.
 */
export function comparableRange(
  { clock, retentionDays }: Pick<UsageReading, "clock" | "retentionDays">,
  { from, to }: TimeRange,
): TimeRange {
  const now = clock.now();
  const first = Math.max(Math.ceil(from / HOUR_MS) * HOUR_MS, firstKeptDay(now, retentionDays));
  const end = Math.floor(Math.min(to, now) / HOUR_MS) * HOUR_MS;
  return { from: first, to: Math.max(first, end) };
}

/** Returns the hours of a range whose bounds are whole hours. */
function hoursOf({ from, to }: TimeRange): readonly TimeRange[] {
  return Array.from({ length: (to - from) / HOUR_MS }, (_, index) => {
    const hour = from + index * HOUR_MS;
    return { from: hour, to: hour + HOUR_MS };
  });
}

/** Returns the UTC days that a range overlaps. */
function daysOf({ from, to }: TimeRange): readonly TimeRange[] {
  if (from === to) return [];
  const first = dayOf(from);
  return Array.from({ length: Math.ceil((to - first) / DAY_MS) }, (_, index) => {
    const day = first + index * DAY_MS;
    return { from: day, to: day + DAY_MS };
  });
}

/** Returns the UTC months that a range overlaps. */
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
