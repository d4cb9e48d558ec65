import { type SQL, sql } from "drizzle-orm";
import {
  latencyHours,
  modelHours,
  usageDays,
  usageHours,
  usageMonths,
  usageSlots,
} from "../../db/tables/usage.ts";
import { addFigures, HOUR_FIGURES } from "../sums/usage-figures.ts";

/**
 * The part of a statement that adds the rows it has `inserted` to the sums by hour, with keys and without, day, month and
 * ten minutes, and to the histogram of latencies. Rows are taken in the order of their primary keys, and tables always in this order, so that
 * replicas which add to the same ones wait for each other and do not deadlock.
 */
export function rollupUsage(): SQL {
  return sql`
    sums as (
      select
        date_trunc('hour', started_at, 'UTC') as hour, key_id, model, channel, count(*) as requests,
        count(*) filter (where outcome in ('error', 'rate_limited')) as failures,
        count(*) filter (where outcome = 'rate_limited') as rate_limited,
        count(*) filter (where outcome = 'aborted') as aborted,
        sum(latency_ms) as latency_ms, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
        sum(cached_tokens) as cached_tokens, sum(reasoning_tokens) as reasoning_tokens
      from inserted
      group by 1, 2, 3, 4
    ),
    hours as (
      insert into ${usageHours} as present (
        hour, key_id, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens,
        output_tokens, cached_tokens, reasoning_tokens
      )
      select * from sums order by hour, key_id, model, channel
      on conflict (hour, key_id, model, channel) do update set ${addFigures(HOUR_FIGURES)}
    ),
    models as (
      insert into ${modelHours} as present (
        hour, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens,
        cached_tokens, reasoning_tokens
      )
      select
        hour, model, channel, sum(requests), sum(failures), sum(rate_limited), sum(aborted), sum(latency_ms),
        sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)
      from sums
      group by 1, 2, 3
      order by 1, 2, 3
      on conflict (hour, model, channel) do update set ${addFigures(HOUR_FIGURES)}
    ),
    days as (
      insert into ${usageDays} as present (
        day, key_id, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens,
        output_tokens, cached_tokens, reasoning_tokens
      )
      select
        date_trunc('day', hour, 'UTC') as day, key_id, model, channel, sum(requests), sum(failures),
        sum(rate_limited), sum(aborted), sum(latency_ms), sum(input_tokens), sum(output_tokens),
        sum(cached_tokens), sum(reasoning_tokens)
      from sums
      group by 1, 2, 3, 4
      order by 1, 2, 3, 4
      on conflict (day, key_id, model, channel) do update set ${addFigures(HOUR_FIGURES)}
    ),
    months as (
      insert into ${usageMonths} as present (key_id, month, requests, tokens)
      select
        key_id, date_trunc('month', hour at time zone 'UTC')::date as month, sum(requests),
        sum(input_tokens + output_tokens)
      from sums
      group by 1, 2
      order by 1, 2
      on conflict (key_id, month) do update set
        requests = present.requests + excluded.requests,
        tokens = present.tokens + excluded.tokens
    ),
    slots as (
      insert into ${usageSlots} as present (
        slot, channel, requests, errors, rate_limited, input_tokens, output_tokens
      )
      select
        date_bin('10 minutes', started_at, 'epoch') as slot, channel, count(*),
        count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'rate_limited'),
        sum(input_tokens), sum(output_tokens)
      from inserted
      group by 1, 2
      order by 1, 2
      on conflict (slot, channel) do update set
        requests = present.requests + excluded.requests,
        errors = present.errors + excluded.errors,
        rate_limited = present.rate_limited + excluded.rate_limited,
        input_tokens = present.input_tokens + excluded.input_tokens,
        output_tokens = present.output_tokens + excluded.output_tokens
    ),
    latencies as (
      insert into ${latencyHours} as present (hour, bucket, requests, latency_ms)
      select
        date_trunc('hour', started_at, 'UTC') as hour, round(50 * ln(1 + greatest(latency_ms, 0)))::int as bucket,
        count(*), sum(latency_ms)
      from inserted
      group by 1, 2
      order by 1, 2
      on conflict (hour, bucket) do update set
        requests = present.requests + excluded.requests,
        latency_ms = present.latency_ms + excluded.latency_ms
    )`;
}
