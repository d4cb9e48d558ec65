/** Ranges of usage: whole days of UTC, or the last 24 hours, as an address holds them. */

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const DEFAULT_DAYS = 30;
const MOST_DAY_BARS = 92;
const LOCALE = "en-GB";

/** As many as the server takes in one report. */
export const MAX_DAYS = 400;

/** What the address says: how many days, and the last of them; an empty `until` is today. */
export interface RangeState {
  readonly range: string;
  readonly until: string;
}

export interface Range {
  readonly days: number;
  /** The first and the last day, as `2026-11-24`. */
  readonly firstDay: string;
  readonly lastDay: string;
  /** RFC 3339; `to` is exclusive. Both stay the same within an hour. */
  readonly from: string;
  readonly to: string;
  /** The equally long time before it, cut off at the same hour. */
  readonly before: { readonly from: string; readonly to: string };
  /** What one bar of its chart stands for. */
  readonly unit: "hour" | "day" | "month";
  /** It ends now. */
  readonly isLive: boolean;
}

/** Reads a range; what is not one is the last 30 days. */
export function readRange({ range, until }: RangeState, now: number): Range {
  const days = /^[1-9]\d{0,2}$/.test(range) ? Math.min(Number(range), MAX_DAYS) : DEFAULT_DAYS;
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const asked = /^\d{4}-\d\d-\d\d$/.test(until) ? Date.parse(until) : Number.NaN;
  const isLive = !(asked >= 0 && asked < today);
  const last = isLive ? today : asked;
  const to = isLive ? (Math.floor(now / HOUR_MS) + 1) * HOUR_MS : last + DAY_MS;
  const from = days === 1 ? to - DAY_MS : last - (days - 1) * DAY_MS;
  return {
    days,
    firstDay: dayOf(from),
    lastDay: dayOf(last),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    before: {
      from: new Date(from - days * DAY_MS).toISOString(),
      to: new Date(to - days * DAY_MS).toISOString(),
    },
    unit: unitOf(days),
    isLive,
  };
}

/** Returns the range that ends where this one begins, or begins where it ends. */
export function moveRange({ days, lastDay }: Range, step: 1 | -1, now: number): RangeState {
  return stateUntil(days, Date.parse(lastDay) + step * days * DAY_MS, now);
}

/** Returns the range from one day to another, both within it; undefined where that is none. */
export function rangeOfDays(first: string, last: string, now: number): RangeState | undefined {
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (!(days >= 1 && days <= MAX_DAYS)) return undefined;
  return stateUntil(days, Date.parse(last), now);
}

/** Returns what a bar stands for, in UTC: `14:00`, `24 Nov` or `Nov 2026`. */
export function formatBar(time: string, unit: Range["unit"]): string {
  return new Intl.DateTimeFormat(LOCALE, { timeZone: "UTC", ...PARTS[unit] }).format(
    new Date(time),
  );
}

const PARTS: Readonly<Record<Range["unit"], Intl.DateTimeFormatOptions>> = {
  hour: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  day: { day: "numeric", month: "short" },
  month: { month: "short", year: "numeric" },
};

function unitOf(days: number): Range["unit"] {
  if (days === 1) return "hour";
  return days <= MOST_DAY_BARS ? "day" : "month";
}

function stateUntil(days: number, last: number, now: number): RangeState {
  const until = dayOf(last);
  return { range: String(days), until: until >= dayOf(now) ? "" : until };
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
