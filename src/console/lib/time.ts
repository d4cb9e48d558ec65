/** Times as people read them. All take Unix milliseconds or RFC 3339 and never read the clock themselves. */

export type Zone = "local" | "utc";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOCALE = "en-GB";
const OLDEST_RELATIVE = 30 * DAY;

const DATE = { day: "numeric", month: "short", year: "numeric" } as const;
const MINUTES = { ...DATE, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const SHAPES = {
  date: DATE,
  minutes: MINUTES,
  seconds: { ...MINUTES, second: "2-digit" },
} as const;

/** Making one takes a hundred times as long as using it, and a list shows a time in each row. */
const KEPT_MS = 1_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns `22 Nov 2026, 19:04`, with seconds where asked. */
export function formatTime(time: string | number, zone: Zone, hasSeconds = false): string {
  return formatAs(hasSeconds ? "seconds" : "minutes", zone).format(new Date(time));
}

/** Returns `22 Nov 2026`. */
export function formatDay(time: string | number, zone: Zone): string {
  return formatAs("date", zone).format(new Date(time));
}

/** Returns the time as the API writes it, to the second: `2026-11-22 18:04:11 UTC`. */
export function formatUtc(time: string | number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/**
 * Returns `2 min ago`, `in 12 d`, `now`; what is more than 30 days away is a date. Of the days that are left, the one
 * that has begun counts, as it does in `days_left` of the license.
 */
export function formatRelative(time: string | number, now: number, zone: Zone): string {
  const seconds = Math.round((new Date(time).getTime() - now) / 1_000);
  const distance = Math.abs(seconds);
  if (distance < 5) return "now";
  if (distance > OLDEST_RELATIVE) return formatDay(time, zone);
  return seconds < 0
    ? `${largestUnit(distance, Math.floor)} ago`
    : `in ${largestUnit(distance, Math.ceil)}`;
}

/** Returns the name of the zone that times are shown in, such as `Europe/Berlin` or `UTC`. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns a time for an `<input type="datetime-local">`, in the zone that is shown. */
export function toLocalInput(time: string | number, zone: Zone): string {
  const date = new Date(time);
  const shift = zone === "utc" ? 0 : date.getTimezoneOffset() * MINUTE * 1_000;
  return new Date(date.getTime() - shift).toISOString().slice(0, 16);
}

/** Returns what such an input holds as RFC 3339 in UTC; null for an empty or a wrong one. */
export function fromLocalInput(text: string, zone: Zone): string | null {
  const time = new Date(zone === "utc" ? `${text}Z` : text).getTime();
  return text === "" || Number.isNaN(time) ? null : new Date(time).toISOString();
}

function largestUnit(seconds: number, roundDays: (days: number) => number): string {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`;
  return `${roundDays(seconds / DAY)} d`;
}

function formatAs(shape: keyof typeof SHAPES, zone: Zone): Intl.DateTimeFormat {
  const name = `${shape} ${zone}`;
  const known = formats.get(name);
  if (known !== undefined) return known;
  const zoneOption = zone === "utc" ? { timeZone: "UTC" } : {};
  const made = new Intl.DateTimeFormat(LOCALE, { ...SHAPES[shape], ...zoneOption });
  // The device's zone may change, as on a journey.
  if (formats.size === 0) setTimeout(() => formats.clear(), KEPT_MS);
  formats.set(name, made);
  return made;
}
