import { sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import { usageHours } from "../../db/tables/usage.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { firstKeptDay, listUsageDays } from "../sums/usage-days.ts";
import {
  NO_USAGE,
  type TimeGroup,
  type UsageFigures,
  type UsageKey,
  type UsageReport,
  type UsageReportQuery,
  type UsageRow,
  type UsageUser,
} from "./usage-report.ts";
import { type ReportRow, usageReportStatement } from "./usage-report-statement.ts";

export interface UsageReading {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  /** USAGE_RETENTION_DAYS. */
  readonly retentionDays: number;
}

const HOUR_MS = DAY_MS / 24;
/** The last millisecond of a four-digit year: the database reads no later one from text. */
const LAST_TIME = Date.UTC(10_000, 0) - 1;

/**
 * Reads usage from the hourly sums, so few rows are read however many calls there were. Grouped only by time, every
 * hour, day or month of the range has a row. Rejects with `insufficient_permission` when a user asks for another
 * user's.
 */
export async function readUsageReport(
  { database, clock, retentionDays }: UsageReading,
  caller: AnyCaller,
  asked: UsageReportQuery,
): Promise<UsageReport> {
  const kept = firstKeptDay(clock.now(), retentionDays);
  const hourlyFrom = await database.ask((db) => firstHourlyDay(db, kept));
  const stepAt = (time: number) => (time < hourlyFrom ? DAY_MS : HOUR_MS);
  const from = Math.floor(asked.from / stepAt(asked.from)) * stepAt(asked.from);
  const to = Math.min(Math.ceil(asked.to / stepAt(asked.to)) * stepAt(asked.to), LAST_TIME);
  const [group, ...others] = asked.groups;
  const isSeries =
    others.length === 0 && (group === "hour" || group === "day" || group === "month");
  // A series is short, and is paged after it is filled.
  const statement = usageReportStatement(
    caller,
    { ...asked, from, to, hourlyFrom },
    isSeries ? undefined : asked,
  );
  const [total, ...found] = await database.ask((db) => db.execute<ReportRow & Row>(statement));
  if (total === undefined) throw new Error("a report has no totals");
  // Refusals by limits are only counted by key and channel.
  const knowsRefusals = asked.model === undefined;
  const all = found.map((row) => rowOf(row, asked));
  const rows = isSeries
    ? fillSeries(all, { from, to, hourlyFrom, unit: group, knowsRefusals }).slice(asked.offset)
    : all;
  return {
    from,
    to,
    hourlyFrom,
    rows: rows.slice(0, asked.limit),
    hasMore: rows.length > asked.limit,
    totals: figuresOf(total, knowsRefusals),
  };
}

type Row = Record<string, unknown>;

function rowOf(row: ReportRow, { groups, model }: UsageReportQuery): UsageRow {
  const knowsRefusals = model === undefined && !groups.includes("model");
  return {
    time: row.time,
    key: keyOf(row),
    model: row.model,
    channel: row.channel as Channel | null,
    user: groups.includes("user") ? userOf(row) : null,
    ...figuresOf(row, knowsRefusals),
  };
}

function keyOf(row: ReportRow): UsageKey | null {
  if (row.key_id === null) return null;
  return {
    id: row.key_id,
    name: row.key_name,
    state: row.key_state ?? "deleted",
    ownerId: row.owner_id,
    ownerName: row.owner_name,
  };
}

function userOf(row: ReportRow): UsageUser {
  return { id: row.owner_id, name: row.owner_name, state: row.owner_state ?? "deleted" };
}

function figuresOf(row: ReportRow, knowsRefusals: boolean): UsageFigures {
  return {
    requests: row.requests,
    failures: row.failures,
    rateLimited: row.rate_limited,
    aborted: row.aborted,
    latencyMs: row.latency_ms,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedTokens: row.cached_tokens,
    reasoningTokens: row.reasoning_tokens,
    refused: knowsRefusals ? row.refused : null,
  };
}

interface TimeSpan {
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Before it, rows are whole days. */
  readonly hourlyFrom: number;
  readonly unit: TimeGroup;
  /** Whether the number of refusals is known. */
  readonly knowsRefusals: boolean;
}

/** Returns the rows grouped only by time, with a row of zeros for each missing hour, day or month of the span. */
function fillSeries(rows: readonly UsageRow[], span: TimeSpan): readonly UsageRow[] {
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

/**
 * Returns the beginning of the first UTC day whose sums are certainly hourly, in Unix milliseconds. It is later than
 * the first retained day after USAGE_RETENTION_DAYS was raised: folded days stay folded and have no partition.
 * @param kept the first day whose single rows are kept, from `firstKeptDay`.
 */
async function firstHourlyDay(db: Db, kept: number): Promise<number> {
  const [first = kept] = await listUsageDays(db);
  if (first <= kept) return kept;
  const [from, to] = [kept, first].map((day) => new Date(day).toISOString());
  const [earlier] = await db.execute<{ are_there: boolean }>(sql`
    select exists (
      select from ${usageHours} where hour >= ${from}::timestamptz and hour < ${to}::timestamptz
    ) as are_there`);
  return earlier?.are_there === true ? first : kept;
}
