import { sql } from "drizzle-orm";
import type { Database } from "../../db/database.ts";
import { modelHours, usageRecords } from "../../db/tables/usage.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** What calls of one model were like. Times are milliseconds, of answered calls; null without any. */
export interface ModelFigures {
  readonly model: string;
  readonly requests: number;
  /** Not answered: by an error, or refused by the upstream. */
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The answered calls that the times are of. */
  readonly sampled: number;
  readonly latencyMsP50: number | null;
  readonly latencyMsP95: number | null;
  readonly firstTokenMsP50: number | null;
  readonly firstTokenMsP95: number | null;
  /** The median over streamed answers, from their first token on. */
  readonly tokensPerSecond: number | null;
}

export interface ModelFiguresReport {
  /** Unix milliseconds: the beginning of an hour. */
  readonly from: number;
  readonly figures: readonly ModelFigures[];
}

const HOUR_MS = 3_600_000;
/** The models that are shown, those with the most calls. */
const MOST_MODELS = 100;
/** The newest calls of a model that its times are read from. */
const SAMPLE = 1_000;
/** How long an answer is used again: many tabs ask for the same. */
const FRESH_MS = 10_000;

/**
 * Creates the function that reads the figures of all models since so many hours ago, from the beginning of that hour.
 * Counts come from the hourly sums over all keys. Times come from the newest calls of each model, at most `SAMPLE` rows
 * through the index by model and time, so the cost does not depend on the number of calls. Concurrent callers share one
 * reading.
 */
export function createModelFigures({
  database,
  clock,
}: {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
}): (hours: number) => Promise<ModelFiguresReport> {
  const known = new Map<
    number,
    { readonly at: number; readonly report: Promise<ModelFiguresReport> }
  >();
  const read = async (from: number, now: number): Promise<ModelFiguresReport> => {
    const rows = await database.ask((db) => db.execute<Row>(statement(from, now)));
    return { from, figures: rows.map(toFigures) };
  };
  return (hours) => {
    const now = clock.now();
    const last = known.get(hours);
    if (last !== undefined && Math.abs(now - last.at) < FRESH_MS) return last.report;
    const from = Math.floor((now - hours * HOUR_MS) / HOUR_MS) * HOUR_MS;
    const report = read(from, now);
    known.set(hours, { at: now, report });
    // A failure is not remembered.
    report.catch(() => known.delete(hours));
    return report;
  };
}

interface Row extends Record<string, unknown> {
  readonly model: string;
  readonly requests: number;
  readonly failures: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly sampled: number;
  readonly latency_p50: number | null;
  readonly latency_p95: number | null;
  readonly first_p50: number | null;
  readonly first_p95: number | null;
  readonly speed: number | null;
}

function toFigures(row: Row): ModelFigures {
  return {
    model: row.model,
    requests: row.requests,
    failures: row.failures,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    sampled: row.sampled,
    latencyMsP50: row.latency_p50,
    latencyMsP95: row.latency_p95,
    firstTokenMsP50: row.first_p50,
    firstTokenMsP95: row.first_p95,
    tokensPerSecond: row.speed === null ? null : Math.round(row.speed * 10) / 10,
  };
}

/**
 * A call of a tool has no model. An answer that came at once has no speed: nothing of it was streamed. The clock may have
 * been ahead, and calls of then are not of now.
 */
function statement(from: number, now: number) {
  const [since, until] = [from, now].map((at) => sql`${new Date(at).toISOString()}::timestamptz`);
  const streamed = sql`outcome = 'ok' and output_tokens > 1 and (latency_ms - first_token_ms) * 10 > latency_ms`;
  return sql`
    with counted as (
      select model, sum(requests)::float8 as requests, sum(failures)::float8 as failures,
        sum(input_tokens)::float8 as input_tokens, sum(output_tokens)::float8 as output_tokens
      from ${modelHours} where hour between ${since} and ${until} and channel <> 'mcp' and model <> ''
      group by model order by 2 desc, model limit ${MOST_MODELS}
    )
    select counted.*, times.* from counted cross join lateral (
      select count(*) filter (where outcome = 'ok')::int as sampled,
        (percentile_disc(0.5) within group (order by latency_ms) filter (where outcome = 'ok'))::float8 as latency_p50,
        (percentile_disc(0.95) within group (order by latency_ms) filter (where outcome = 'ok'))::float8 as latency_p95,
        (percentile_disc(0.5) within group (order by first_token_ms) filter (where outcome = 'ok'))::float8 as first_p50,
        (percentile_disc(0.95) within group (order by first_token_ms) filter (where outcome = 'ok'))::float8 as first_p95,
        percentile_cont(0.5) within group (
          order by output_tokens * 1000.0::float8 / nullif(latency_ms - first_token_ms, 0)
        ) filter (where ${streamed}) as speed
      from (
        select outcome, latency_ms, first_token_ms, output_tokens from ${usageRecords}
        where model = counted.model and started_at between ${since} and ${until}
        order by started_at desc limit ${SAMPLE}
      ) as newest
    ) as times
    order by counted.requests desc, counted.model`;
}
