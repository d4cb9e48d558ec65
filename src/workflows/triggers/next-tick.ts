import { Cron } from "croner";
import type { Trigger } from "../definition/definition.ts";

export type ScheduleTrigger = Extract<Trigger, { readonly kind: "schedule" }>;

/** The times of a schedule, as far as they define its ticks. */
export type ScheduleTimes = Pick<ScheduleTrigger, "cron" | "every" | "timezone">;

/** A schedule that cannot be followed. The message is for its author. */
export class ScheduleFault extends Error {
  override readonly name = "ScheduleFault";
  readonly field: "cron" | "every" | "timezone";

  constructor(message: string, details: ErrorOptions & Pick<ScheduleFault, "field">) {
    super(message, details);
    this.field = details.field;
  }
}

/** @param after Unix milliseconds. Returns the first tick after it; undefined when there is none. */
export type NextTick = (after: number) => number | undefined;

/** Ticks are at least this far apart. */
export const LEAST_INTERVAL_MS = 10_000;
const LONGEST_INTERVAL_MS = 366 * 86_400_000;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
const NICKNAMES = new Set(["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly"]);
const EVERY = /^(\d{1,9})([smh])$/;
const CRON_LENGTH = 200;

/**
 * Reads the times of a schedule.
 *
 * - A fixed time, whose hours are named, that falls into the gap of spring runs when the gap ends; in a repeated hour it
 * runs the first time only. A schedule of every hour, or every so many, passes over what does not exist, and runs
 * through both hours.
 * - `@every 90s`, and `every`, count from the save.
 *
 * @param savedAt Unix milliseconds. Throws a ScheduleFault.
 */
export function readTicks({ cron, every, timezone }: ScheduleTimes, savedAt: number): NextTick {
  if (cron !== undefined && every !== undefined) {
    throw new ScheduleFault("Give `cron` or `every`, not both.", { field: "every" });
  }
  const interval = every ?? /^@every\s+(\S+)$/.exec(cron?.trim() ?? "")?.[1];
  if (interval !== undefined) {
    const ms = readInterval(interval, every === undefined ? "cron" : "every");
    return (after) => savedAt + (Math.floor((after - savedAt) / ms) + 1) * ms;
  }
  if (cron === undefined) throw new ScheduleFault("Give `cron` or `every`.", { field: "cron" });
  refuseZone(timezone);
  const pattern = readCron(cron, timezone);
  return (after) => pattern.nextRun(new Date(after))?.getTime();
}

/**
 * Returns the next tick of a schedule after a time; undefined when there is none.
 *
 * @param savedAt @param after Unix milliseconds.
 */
export function nextTick(
  trigger: ScheduleTimes,
  savedAt: number,
  after: number,
): number | undefined {
  return readTicks(trigger, savedAt)(after);
}

/**
 * Returns the last tick after `after` up to `upTo`; undefined when there is none. It walks from tick to tick, so the two
 * are to be an hour apart at most.
 */
export function lastTick(next: NextTick, after: number, upTo: number): number | undefined {
  let last: number | undefined;
  for (let tick = next(after); tick !== undefined && tick <= upTo; tick = next(tick)) last = tick;
  return last;
}

function readInterval(text: string, field: "cron" | "every"): number {
  const [, count, unit = ""] = EVERY.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (Number.isNaN(ms)) {
    throw new ScheduleFault(
      `'${text.slice(0, 40)}' is no interval: expected a number of seconds, minutes or hours, as in 30s, 5m or 2h.`,
      { field },
    );
  }
  if (ms < LEAST_INTERVAL_MS) throw tooClose(field);
  if (ms > LONGEST_INTERVAL_MS) {
    throw new ScheduleFault("The interval is longer than 366 days: use a shorter one.", { field });
  }
  return ms;
}

export function tooClose(field: "cron" | "every"): ScheduleFault {
  return new ScheduleFault(
    `The times are closer than ${LEAST_INTERVAL_MS / 1_000} s: leave at least that between two of them.`,
    { field },
  );
}

function refuseZone(timezone: string): void {
  // The runtimes also take offsets as zones, which would miss daylight saving time.
  if (/^[A-Za-z]/.test(timezone) && isKnownZone(timezone)) return;
  throw new ScheduleFault(
    `There is no time zone '${timezone.slice(0, 64)}': expected an IANA name, as in Europe/Berlin.`,
    { field: "timezone" },
  );
}

function isKnownZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}

function readCron(cron: string, timezone: string): Cron {
  const text = cron.trim().toLowerCase();
  const fields = text.split(/\s+/);
  const isShort = text.startsWith("@");
  // Croner also takes a date, which is no schedule.
  const isKnown = isShort ? NICKNAMES.has(text) : fields.length === 5 || fields.length === 6;
  if (!isKnown || cron.length > CRON_LENGTH) {
    throw new ScheduleFault(
      "Expected five or six fields, as in 30 6 * * 1-5, or one of @hourly, @daily, @weekly, @monthly, @yearly, @every 30s.",
      { field: "cron" },
    );
  }
  try {
    return new Cron(isShort ? text : withNamedMinutes(fields).join(" "), {
      timezone,
      paused: true,
      mode: "5-or-6-parts",
      fixedTimeRule: "no-wildcard",
    });
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message.replace(/^CronPattern:\s*/, "") : "";
    throw new ScheduleFault(`'${cron}' is no schedule: ${cause.slice(0, 200)}`, {
      field: "cron",
      cause: thrown,
    });
  }
}

/**
 * Croner takes a schedule with a wildcard or a step in any field of the time for one of every hour, and drops its ticks
 * in the gap of spring. Where the hours are named, minutes and seconds are written as lists: each half hour of hour 2 is
 * as fixed a time as `0,30 2`.
 */
function withNamedMinutes(fields: readonly string[]): readonly string[] {
  const hourAt = fields.length - 4;
  if (!/^[\d,-]+$/.test(fields[hourAt] ?? "")) return fields;
  return fields.map((field, at) => (at < hourAt ? toList(field) : field));
}

function toList(field: string): string {
  return field
    .split(",")
    .map((part) => {
      const [, range = "", step = "1"] = /^(\*|\?|\d+-\d+)(?:\/(\d+))?$/.exec(part) ?? [];
      const [first = 0, last = 59] = range.includes("-") ? range.split("-").map(Number) : [];
      // What is wrong stays as it is, and is refused with its own words.
      if (range === "" || Number(step) < 1 || first > last || last > 59) return part;
      const values: number[] = [];
      for (let value = first; value <= last; value += Number(step)) values.push(value);
      return values.join(",");
    })
    .join(",");
}
