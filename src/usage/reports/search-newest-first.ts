import { ServiceError } from "../../core/service-error.ts";
import { DAY_MS } from "../../db/days/day-table.ts";

/** A search that would take longer stops; the next call continues it. */
const SEARCH_MS = 150;
/** After a faster search the next part covers more days. */
const QUICK_MS = 40;
/** Largest part: before a quiet month there may be days with millions of rows. */
const PART_MAX_MS = 2 * DAY_MS;
/** A part that is too large for one search is divided by this. */
const SHARES = 8;
/**
 * When even a few minutes are too much, the database no longer works. Down to this size the division has no remainder.
 */
const PART_MIN_MS = 60_000;

/** A range of time in Unix milliseconds; `to` is exclusive. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface Found<Row> {
  /** The newest first. */
  readonly rows: readonly Row[];
  /** The start of the searched part of the range; rows before it are unknown. */
  readonly from: number;
}

export interface Searched<Row> {
  /**
   * Returns the newest rows of a part of the range, up to a maximum; undefined when the part is too large for one search.
   */
  readonly look: (part: TimeRange, limit: number) => Promise<readonly Row[] | undefined>;
  /**
   * Returns the exclusive end of the newest rows of a range, whether they are searched for or not; its beginning when it
   * has none.
   */
  readonly endOfRows: (range: TimeRange) => Promise<number>;
}

/**
 * Searches a range from its end to its beginning by UTC days, until `wanted` rows are found or the time is up. Most
 * searches end in the newest day. Days without any rows are passed over together. A rare, unindexed value takes several
 * calls, but each call is bounded in time and in database work. Each call makes progress, however many rows there are.
 * Rejects with `storage_unavailable` when even a few minutes are too much.
 */
export async function searchNewestFirst<Row>(
  range: TimeRange,
  wanted: number,
  { look, endOfRows }: Searched<Row>,
): Promise<Found<Row>> {
  const rows: Row[] = [];
  const began = performance.now();
  const isBegun = () => to < range.to;
  // The next search is expected to take about as long as the last one.
  let nextMs = 0;
  const isOver = () => isBegun() && performance.now() - began + nextMs >= SEARCH_MS;
  let partMs = DAY_MS;
  let { to } = range;
  let mayBeQuiet = true;
  while (to > range.from && rows.length < wanted && !isOver()) {
    const from = Math.max(range.from, beginningOf(to, partMs));
    const lookedAt = performance.now();
    const found = await look({ from, to }, wanted - rows.length);
    if (found !== undefined) {
      rows.push(...found);
      to = from;
      const tookMs = performance.now() - lookedAt;
      const lookedMs = partMs;
      partMs = tookMs < QUICK_MS ? Math.min(2 * partMs, PART_MAX_MS) : Math.min(partMs, DAY_MS);
      nextMs = (tookMs * partMs) / lookedMs;
      if (found.length === 0 && to > range.from && mayBeQuiet) {
        to = await endOfRows({ from: range.from, to });
        // Where the next day has rows, those before it probably have some as well.
        mayBeQuiet = from - to >= DAY_MS;
      }
    } else if (isBegun()) break;
    else partMs = shareOf(partMs);
  }
  return { rows, from: Math.max(to, range.from) };
}

/**
 * Returns the start of the part of this length that ends at `to`: parts are aligned to days, or to fractions of one.
 */
function beginningOf(to: number, partMs: number): number {
  const step = Math.min(partMs, DAY_MS);
  return Math.floor((to - 1) / step) * step - (partMs - step);
}

function shareOf(partMs: number): number {
  const share = partMs / SHARES;
  if (share >= PART_MIN_MS) return share;
  throw new ServiceError(
    "storage_unavailable",
    "The database is too slow for this search now: ask for a shorter range, or for one key or model.",
    { retryAfterSeconds: 1 },
  );
}
