import { type SQL, sql } from "drizzle-orm";
import { latencyHours, usageSlots } from "../../db/tables/usage.ts";
import { addSums, DAYS, HOURS, MODEL_HOURS, MONTHS, selectSums } from "../sums/usage-sums.ts";

/**
 * The part of a statement that adds the rows it has `inserted` to all sums and to the histogram of latencies. Rows are
 * taken in the order of their primary keys, and tables always in this order, so that replicas which add to the same
 * ones wait for each other and do not deadlock.
 */
export function rollupUsage(): SQL {
  const sums = sql`sums`;
  return sql`
    sums as (${selectSums(HOURS, sql`inserted`)}),
    hours as (${addSums(HOURS, sql`select * from sums`)}),
    models as (${addSums(MODEL_HOURS, selectSums(MODEL_HOURS, sums))}),
    days as (${addSums(DAYS, selectSums(DAYS, sums))}),
    months as (${addSums(MONTHS, selectSums(MONTHS, sums))}),
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
