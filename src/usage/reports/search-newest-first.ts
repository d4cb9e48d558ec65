import { ServiceError } from "../../core/service-error.ts";
import { DAY_MS } from "../sums/usage-days.ts";

/** A search that would take longer stops and is gone on with by the next call. */
const SEARCH_MS = 150;
/** Days that are looked through faster are taken more at a time. */
const QUICK_MS = 40;
/** So many at most: behind a quiet month there may be days with millions of rows. */
const PART_MAX_MS = 2 * DAY_MS;
/** What is too much for one look is looked at in such parts of it. */
const SHARES = 8;
/** Where some minutes are still too much, the database has stopped working. Down to there shares are whole. */
const PART_MIN_MS = 60_000;

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
 * for it than a moment, and the database does no more for a call than that. Each call comes some way, however many rows
 * there are. Rejects with `storage_unavailable` when even some minutes are too much.
 *
 * @param look the newest rows of a part of the range, at most so many; undefined when the part is too much for one look.
 */
export async function searchNewestFirst<Row>(
  range: TimeRange,
  wanted: number,
  look: (part: TimeRange, limit: number) => Promise<readonly Row[] | undefined>,
): Promise<Found<Row>> {
  const rows: Row[] = [];
  const began = performance.now();
  const isBegun = () => to < range.to;
  // The next look will take about as long as the last one did.
  let nextMs = 0;
  const isOver = () => isBegun() && performance.now() - began + nextMs >= SEARCH_MS;
  let partMs = DAY_MS;
  let { to } = range;
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
    } else if (isBegun()) break;
    else partMs = shareOf(partMs);
  }
  return { rows, from: Math.max(to, range.from) };
}

/** Of the part of this length that ends at `to`: parts begin with a day, or a share of one. */
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
