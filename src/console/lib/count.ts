/** Numbers with their unit, as people read them. */

const LOCALE = "en-GB";
const exact = new Intl.NumberFormat(LOCALE);
const rounded = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 });

const SCALES = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;
const BYTE_SCALES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
] as const;

const FIRST_SHORTENED = 10_000;

/** Returns `3,500,000`. */
export function formatExact(value: number): string {
  return exact.format(value);
}

/** Returns `3.5 M`; below 10,000 the exact number. */
export function formatCount(value: number): string {
  if (Math.abs(value) < FIRST_SHORTENED) return exact.format(value);
  return scaled(value, SCALES) ?? exact.format(value);
}

/** Returns `1 row` or `3,500 rows`. `many` is given where an `s` does not make it. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${exact.format(count)} ${wordFor(count, one, many)}`;
}

/** Returns the word for things of which there are `count`, where the number stands by itself. */
export function wordFor(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** Returns `4 MiB`. */
export function formatBytes(bytes: number): string {
  return scaled(bytes, BYTE_SCALES) ?? `${exact.format(bytes)} B`;
}

/** Returns `312 ms`, `6.2 s`, `4 min 5 s`, `2 h 10 min` or `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  // What rounds up to the next unit belongs to it.
  if (Math.round(milliseconds) < 1_000) return `${Math.round(milliseconds)} ms`;
  const tenths = Math.round(milliseconds / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 3_600) return pair(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 24 * 60) return pair(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.floor(minutes / 60);
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** Returns `71 %` for 0.71; what is there but rounds to nothing is `< 1 %`. */
export function formatPercent(share: number): string {
  if (share > 0 && share < 0.01) return "< 1 %";
  return `${wholePercent(share)} %`;
}

/** Returns the percent that are complete: 71 for 0.719. */
export function wholePercent(share: number): number {
  const percent = Math.floor(share * 100);
  // Some products are a little too small: 0.29 times 100 is 28.999999999999996.
  return share >= (percent + 1) / 100 ? percent + 1 : percent;
}

/** Returns `0.4 %` for 0.004: shares of which the small ones matter. */
export function formatShare(share: number): string {
  return `${share > 0 && share < 0.001 ? "< 0.1" : Math.round(share * 1_000) / 10} %`;
}

function scaled(
  value: number,
  scales: ReadonlyArray<readonly [number, string]>,
): string | undefined {
  // What rounds up to a thousand belongs to the next unit: 999,999 is 1 M.
  const found = scales.find(([size]) => Math.abs(value) >= size * 0.9995);
  return found && `${rounded.format(value / found[0])} ${found[1]}`;
}

function pair(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major} ${majorUnit}` : `${major} ${majorUnit} ${minor} ${minorUnit}`;
}
