import { and, type SQL, sql } from "drizzle-orm";
import type { SessionCaller } from "../../core/caller.ts";
import type { Channel } from "../../core/channel.ts";
import { usageRecords } from "../../db/tables/usage.ts";
import { DAY_MS, dayOf, firstKeptDay } from "../sums/usage-days.ts";
import type { Outcome } from "../usage-record.ts";
import { findRequest } from "./find-request.ts";
import { type MeteredRequest, selectRequests } from "./metered-request.ts";
import type { UsageReading } from "./read-usage-report.ts";
import { searchNewestFirst, type TimeRange } from "./search-newest-first.ts";
import { withStatementTimeout } from "./statement-timeout.ts";
import { type UsageOwner, usageScope } from "./usage-scope.ts";

/** Well within DB_POOL_WAIT_MS, so that a look at too much can be followed by a shorter one. */
const LOOK_MS = 500;

/** A place in the list of requests, between two rows. What comes after it started earlier, or has a lesser id. */
export interface RequestPlace {
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly id: string;
}

export interface RequestQuery extends UsageOwner {
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  readonly channel?: Channel | undefined;
  readonly outcome?: Outcome | undefined;
  readonly status?: number | undefined;
  /** Unix milliseconds; unset: as far as rows are kept. */
  readonly from?: number | undefined;
  /** The first moment that is no longer meant; unset: now. */
  readonly to?: number | undefined;
  readonly before?: RequestPlace | undefined;
  readonly limit: number;
}

export interface RequestPage extends TimeRange {
  /** The newest first. */
  readonly requests: readonly MeteredRequest[];
  /**
   * Where to go on; null: there is no more. A search for what is rare may stop at its limit of time with fewer requests
   * than asked for, or none, and go on from here.
   */
  readonly next: RequestPlace | null;
}

/**
 * Single requests that meet all of a query, the newest first. Rejects with `insufficient_permission` when a user asks
 * for another.
 */
export async function listRequests(
  reading: UsageReading,
  caller: SessionCaller,
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
  // Nothing has started after today: to look there would take the time for what is there.
  const last = Math.min(range.to, dayOf(now) + DAY_MS);
  const end = before === undefined ? last : Math.min(last, endBefore(before));
  const { rows, from } = await searchNewestFirst(
    { from: range.from, to: end },
    limit + 1,
    (part, wanted) => {
      const condition = and(filter, inRange(part), before && isAfter(before)) ?? sql`true`;
      return reading.database.ask((db) =>
        withStatementTimeout(db, LOOK_MS, (look) => selectRequests(look, condition, wanted)),
      );
    },
  );
  const requests = rows.slice(0, limit);
  const isDone =
    from <= range.from ||
    (rows.length <= limit && !(await hasRows(reading, { ...range, to: from })));
  return { ...range, requests, next: nextPlace(rows, { limit, from, isDone }) };
}

/** Whether there is anything left to look through, whatever is looked for: of empty days there is no next page. */
async function hasRows({ database }: UsageReading, range: TimeRange): Promise<boolean> {
  const found = await database.ask((db) =>
    withStatementTimeout(db, LOOK_MS, (look) =>
      look.execute(sql`select 1 from ${usageRecords} where ${inRange(range)} limit 1`),
    ),
  );
  return found === undefined || found.length > 0;
}

/** A place before every id of its moment leaves nothing of the moment. */
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
  // Before every id of the moment at which the search stopped: what started then was seen.
  return isDone ? null : { startedAt: from, id: "" };
}

function conditionsOf(query: RequestQuery): readonly (SQL | undefined)[] {
  const { model, channel, outcome, status } = query;
  return [
    model === undefined ? undefined : sql`model = ${model}`,
    channel === undefined ? undefined : sql`channel = ${channel}`,
    outcome === undefined ? undefined : sql`outcome = ${outcome}`,
    status === undefined ? undefined : sql`status = ${status}`,
    // What ends well has no such status, and what does not has an index.
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
