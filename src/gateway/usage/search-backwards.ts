import { DAY_MS, dayOf } from "./usage-days.ts";

/** A search that takes longer stops and is gone on with by the next call. */
const SEARCH_MS = 150;
/** Days that are looked through faster are taken more at a time. */
const QUICK_MS = 40;

/** A range of time in Unix milliseconds; `to` is the first moment that is no longer meant. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface Found<Row> {
  /** The newest first. */
  readonly rows: readonly Row[];
  /** How far the range was looked through: nothing is known of what is before. */
  readonly from: number;
}

/**
 * Looks through a range from its end to its beginning by days of UTC, until `wanted` rows are found or the time is over.
 * What is looked for is mostly in the newest day; what is rare and in no index takes a while, but no caller waits longer
 * for it than a moment, and the database does no more for a call than that.
 *
 * @param look the newest rows of a part of the range, at most so many.
 */
export async function searchBackwards<Row>(
  range: TimeRange,
  wanted: number,
  look: (part: TimeRange, limit: number) => Promise<readonly Row[]>,
): Promise<Found<Row>> {
  const rows: Row[] = [];
  const began = performance.now();
  let days = 1;
  let { to } = range;
  while (to > range.from && rows.length < wanted && performance.now() - began < SEARCH_MS) {
    const day = dayOf(to - 1);
    const from = Math.max(range.from, day - (days - 1) * DAY_MS);
    const lookedAt = performance.now();
    rows.push(...(await look({ from, to }, wanted - rows.length)));
    to = from;
    days = performance.now() - lookedAt < QUICK_MS ? days * 2 : 1;
  }
  return { rows, from: Math.max(to, range.from) };
}
