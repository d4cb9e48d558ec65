import { and, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import { usageRecords } from "../../db/tables/usage.ts";
import { firstKeptDay } from "../sums/usage-days.ts";
import type { Outcome } from "../usage-record.ts";
import { findRequest } from "./find-request.ts";
import { type MeteredRequest, selectRequests } from "./metered-request.ts";
import type { UsageReading } from "./read-usage-report.ts";
import { searchNewestFirst, type TimeRange } from "./search-newest-first.ts";
import { withStatementTimeout } from "./statement-timeout.ts";
import { type UsageOwner, usageScope } from "./usage-scope.ts";

/** Well within DB_POOL_WAIT_MS, so that a search of too large a part can be followed by a smaller one. */
const LOOK_MS = 500;

/** A position in the list of requests, between two rows. Requests after it started earlier, or have a lesser id. */
export interface RequestPlace {
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly id: string;
}

export interface RequestQuery extends UsageOwner {
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  readonly assistantId?: string | undefined;
  readonly runId?: string | undefined;
  readonly channel?: Channel | undefined;
  readonly outcome?: Outcome | undefined;
  readonly status?: number | undefined;
  /** Unix milliseconds; unset: as far back as rows are kept. */
  readonly from?: number | undefined;
  /** Exclusive end; unset: now. */
  readonly to?: number | undefined;
  readonly before?: RequestPlace | undefined;
  readonly limit: number;
}

export interface RequestPage extends TimeRange {
  /** The newest first. */
  readonly requests: readonly MeteredRequest[];
  /**
   * The position of the next page; null on the last one. A search for rare requests may time out with fewer than asked
   * for, or with no requests, and continue from here.
   */
  readonly next: RequestPlace | null;
}

/**
 * Lists single requests that match the query, the newest first. Rejects with `insufficient_permission` when a user asks
 * for another user's.
 */
export async function listRequests(
  reading: UsageReading,
  caller: AnyCaller,
  query: RequestQuery,
): Promise<RequestPage> {
  const now = reading.clock.now();
  const kept = firstKeptDay(now, reading.retentionDays);
  const range = { from: Math.max(query.from ?? kept, kept), to: query.to ?? now + 1 };
  const filter = and(usageScope(caller, query), ...conditionsOf(query));
  if (query.requestId !== undefined) {
    const within = and(filter, inRange({ from: query.from ?? 0, to: range.to }));
    const found = await findRequest(reading, query.requestId, within);
    return { ...range, requests: found === undefined ? [] : [found], next: null };
  }
  const { before, limit } = query;
  // No request starts after today; searching there would only use up the time limit.
  const last = Math.min(range.to, dayOf(now) + DAY_MS);
  const end = before === undefined ? last : Math.min(last, endBefore(before));
  const { rows, from } = await searchNewestFirst({ from: range.from, to: end }, limit + 1, {
    look(part, wanted) {
      const condition = and(filter, inRange(part), before && isAfter(before)) ?? sql`true`;
      return lookBriefly(reading, (db) => selectRequests(db, condition, wanted));
    },
    endOfRows: (part) => endOfRows(reading, part),
  });
  const requests = rows.slice(0, limit);
  const isDone =
    from <= range.from ||
    (rows.length <= limit && !(await hasRows(reading, { ...range, to: from })));
  return { ...range, requests, next: nextPlace(rows, { limit, from, isDone }) };
}

/** Returns whether any rows are left, whatever is searched for: empty days have no next page. */
async function hasRows(reading: UsageReading, range: TimeRange): Promise<boolean> {
  const found = await lookBriefly(reading, (db) =>
    db.execute(sql`select 1 from ${usageRecords} where ${inRange(range)} limit 1`),
  );
  return found === undefined || found.length > 0;
}

/** Returns the exclusive end of the newest rows; that of the range when finding it takes too long. */
async function endOfRows(reading: UsageReading, range: TimeRange): Promise<number> {
  const found = await lookBriefly(reading, (db) =>
    db.execute<{ started_at: number }>(sql`
      select extract(epoch from started_at)::float8 * 1000 as started_at from ${usageRecords}
      where ${inRange(range)} order by usage_records.started_at desc limit 1`),
  );
  if (found === undefined) return range.to;
  const [newest] = found;
  return newest === undefined ? range.from : Math.round(newest.started_at) + 1;
}

/** Undefined when it took too long. */
function lookBriefly<Result>(
  { database }: UsageReading,
  look: (db: Db) => Promise<Result>,
): Promise<Result | undefined> {
  return database.ask((db) => withStatementTimeout(db, LOOK_MS, look));
}

/** Returns the exclusive end of the search. A place before every id of its moment excludes the whole moment. */
function endBefore({ startedAt, id }: RequestPlace): number {
  return id === "" ? startedAt : startedAt + 1;
}

function nextPlace(
  rows: readonly MeteredRequest[],
  {
    limit,
    from,
    isDone,
  }: { readonly limit: number; readonly from: number; readonly isDone: boolean },
): RequestPlace | null {
  const last = rows[limit - 1];
  if (rows.length > limit && last !== undefined) return { startedAt: last.startedAt, id: last.id };
  // Before every id of the moment at which the search stopped: requests that started then were seen.
  return isDone ? null : { startedAt: from, id: "" };
}

function conditionsOf(query: RequestQuery): readonly (SQL | undefined)[] {
  const { model, assistantId, runId, channel, outcome, status } = query;
  return [
    model === undefined ? undefined : sql`model = ${model}`,
    assistantId === undefined ? undefined : sql`assistant_id = ${assistantId}`,
    runId === undefined ? undefined : sql`run_id = ${runId}`,
    channel === undefined ? undefined : sql`channel = ${channel}`,
    outcome === undefined ? undefined : sql`outcome = ${outcome}`,
    status === undefined ? undefined : sql`status = ${status}`,
    // Successful calls have no such status, and failed ones have an index.
    status === undefined || status < 400 ? undefined : sql`outcome <> 'ok'`,
  ];
}

function inRange({ from, to }: TimeRange): SQL {
  return sql`started_at >= ${timeOf(from)}::timestamptz and started_at < ${timeOf(to)}::timestamptz`;
}

function isAfter({ startedAt, id }: RequestPlace): SQL {
  return sql`(started_at, id) < (${timeOf(startedAt)}::timestamptz, ${id})`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
