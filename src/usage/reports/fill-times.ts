import { DAY_MS, dayOf } from "../sums/usage-days.ts";
import { NO_USAGE, type TimeGroup, type UsageRow } from "./usage-report.ts";

const HOUR_MS = DAY_MS / 24;

export interface TimeSpan {
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Hours before it are whole days. */
  readonly hourlyFrom: number;
  readonly unit: TimeGroup;
  /** Whether it is known what was refused. */
  readonly knowsRefusals: boolean;
}

/** The rows of a time alone, with one of zeros for each hour, day or month of the span that has none. */
export function fillTimes(rows: readonly UsageRow[], span: TimeSpan): readonly UsageRow[] {
  const byTime = new Map(rows.map((row) => [row.time, row]));
  const nothing = { ...NO_USAGE, refused: span.knowsRefusals ? 0 : null };
  for (let time = beginningOf(span); time < span.to; time = next(time, span)) {
    if (!byTime.has(time)) byTime.set(time, { ...nothing, time });
  }
  return [...byTime.values()].sort((one, other) => Number(one.time) - Number(other.time));
}

function beginningOf({ from, unit }: TimeSpan): number {
  if (unit === "hour") return from;
  const day = dayOf(from);
  return unit === "day" ? day : new Date(day).setUTCDate(1);
}

function next(time: number, { unit, hourlyFrom }: TimeSpan): number {
  if (unit === "month") {
    const date = new Date(time);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  }
  return time + (unit === "hour" && time >= hourlyFrom ? HOUR_MS : DAY_MS);
}
