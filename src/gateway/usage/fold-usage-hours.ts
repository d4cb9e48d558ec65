import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { usageHours } from "../../db/tables/usage.ts";
import { inUpkeepTurn } from "./in-upkeep-turn.ts";
import { DAY_MS } from "./usage-days.ts";
import { addFigures, HOUR_FIGURES } from "./usage-figures.ts";

const LOCK_TIMEOUT_MS = 1_000;
/** The rest of a long past waits for the next time. */
const DAYS_MAX = 1_000;

/**
 * Adds up the hours of each UTC day before `cutoff`, a day's beginning, into one row a key, model and channel, whose
 * hour is the day's first: what is told by day and month stays as it was, and years of it stay small. One transaction
 * a day.
 *
 * @returns false when days are left for the next time.
 */
export async function foldUsageHours(db: Db, cutoff: number): Promise<boolean> {
  const days = await daysWithHours(db, cutoff);
  for (const day of days) {
    const isFolded = await inUpkeepTurn(db, LOCK_TIMEOUT_MS, (transaction) =>
      foldDay(transaction, day),
    );
    if (!isFolded) return false;
  }
  return days.length < DAYS_MAX;
}

/** Looks at each day since the first by its index, not at all rows: after the first time hardly any has hours left. */
async function daysWithHours(db: Db, cutoff: number): Promise<readonly number[]> {
  const rows = await db.execute<{ day: number }>(sql`
    select (extract(epoch from day) * 1000)::float8 as day
    from generate_series(
      (select date_trunc('day', min(hour), 'UTC') from ${usageHours}), to_timestamp(${cutoff - DAY_MS}::float8 / 1000),
      interval '24 hours'
    ) as day
    where exists (
      select from ${usageHours} where hour > day and hour < day + interval '24 hours'
    )
    order by 1
    limit ${DAYS_MAX}`);
  return rows.map(({ day }) => day);
}

/**
 * Rows are locked in the order of their keys, as those lock them that add to the hours: a row of long ago, from a
 * journal that was found late, waits for this, and the two do not deadlock.
 */
async function foldDay(transaction: Db, day: number): Promise<void> {
  const first = sql`to_timestamp(${day}::float8 / 1000)`;
  const isOfDay = sql`hour >= ${first} and hour < ${first} + interval '24 hours'`;
  const isLater = sql`hour > ${first} and hour < ${first} + interval '24 hours'`;
  await transaction.execute(sql`
    insert into ${usageHours} as present (
      hour, key_id, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens, reasoning_tokens
    )
    select distinct ${first}, key_id, model, channel, 0, 0, 0, 0, 0, 0
    from ${usageHours} where ${isOfDay}
    order by 1, 2, 3, 4
    on conflict (hour, key_id, model, channel) do update set requests = present.requests`);
  await transaction.execute(sql`
    select from ${usageHours} where ${isLater} order by hour, key_id, model, channel for update`);
  await transaction.execute(sql`
    with hours as (delete from ${usageHours} where ${isLater} returning *)
    insert into ${usageHours} as present (
      hour, key_id, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens,
      output_tokens, cached_tokens, reasoning_tokens
    )
    select
      ${first}, key_id, model, channel, sum(requests), sum(failures), sum(rate_limited), sum(aborted),
      sum(latency_ms), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)
    from hours
    group by 2, 3, 4
    order by 2, 3, 4
    on conflict (hour, key_id, model, channel) do update set ${addFigures(HOUR_FIGURES)}`);
}
