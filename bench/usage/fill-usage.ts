import { sql } from "drizzle-orm";
import type { Db } from "../../src/db/context.ts";
import { DAY_MS } from "../../src/db/days/day-table.ts";
import { dayTable } from "../../src/usage/sums/usage-days.ts";

export const DAYS = 90;
/** The days without calls, counted back from today, between two busy periods. */
export const QUIET = { from: 60, to: 30 };
const KEYS = 500;
const OWNERS = 50;
const MODELS = 20;

/** The eight base-36 digits of a time, as in a request id. */
const TIME_DIGITS = sql.raw(
  [7, 6, 5, 4, 3, 2, 1, 0]
    .map(
      (place) =>
        `substr('0123456789abcdefghijklmnopqrstuvwxyz', (ms / ${36 ** place} % 36 + 1)::int, 1)`,
    )
    .join(" || "),
);
const CHANNEL = sql`(array['chat', 'chat', 'chat', 'chat', 'messages', 'messages', 'responses', 'embeddings', 'audio',
  'mcp'])[key % 10 + 1]`;

/**
 * Fills the usage of the days before `today` as if `rows` calls had been made. A few keys make most of them, each in
 * its channel and with three models, so that each model is called in each channel. 96 of 100 succeed, and they take
 * from 50 ms to minutes; rows are stored in the order of their times. Sums are computed from the rows, indexes are created
 * last. A month in the middle has no calls.
 *
 * @param today the start of a UTC day in Unix milliseconds; it gets rows too, so that lists begin now.
 */
export async function fillUsage(db: Db, today: number, rows: number): Promise<void> {
  const perDay = Math.ceil(rows / (DAYS - QUIET.from + QUIET.to));
  const quietFrom = today - QUIET.from * DAY_MS;
  const quietTo = today - QUIET.to * DAY_MS;
  await db.execute(
    sql`alter table usage_hours drop constraint usage_hours_hour_key_id_model_channel_pk`,
  );
  await db.execute(sql`drop index usage_hours_key_id_hour_index`);
  for (let day = today - (DAYS - 1) * DAY_MS; day <= today; day += DAY_MS) {
    await fillDay(db, day, quietFrom <= day && day < quietTo ? 0 : perDay);
    await sumDay(db, day);
  }
  await db.execute(sql`alter table usage_hours add primary key (hour, key_id, model, channel)`);
  await db.execute(sql`create index usage_hours_key_id_hour_index on usage_hours (key_id, hour)`);
  await db.execute(sql`
    insert into model_hours (
      hour, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens,
      cached_tokens, reasoning_tokens
    )
    select hour, model, channel, sum(requests), sum(failures), sum(rate_limited), sum(aborted), sum(latency_ms),
      sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)
    from usage_hours group by 1, 2, 3`);
  await db.execute(sql`
    insert into usage_days (
      day, key_id, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens,
      cached_tokens, reasoning_tokens
    )
    select date_trunc('day', hour, 'UTC'), key_id, model, channel, sum(requests), sum(failures), sum(rate_limited),
      sum(aborted), sum(latency_ms), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)
    from usage_hours group by 1, 2, 3, 4`);
  await db.execute(sql`
    insert into usage_months
    select key_id, date_trunc('month', hour at time zone 'UTC')::date, sum(requests), sum(input_tokens + output_tokens)
    from usage_hours group by 1, 2`);
  for (const table of [
    "usage_records",
    "usage_hours",
    "model_hours",
    "usage_days",
    "usage_slots",
    "latency_hours",
  ]) {
    await db.execute(sql`vacuum analyze ${sql.identifier(table)}`);
  }
}

/** Inserts keys with these ids, and their owners. */
export async function fillKeys(db: Db): Promise<void> {
  await db.execute(sql`
    insert into users (id, username, role)
    select 'usr_' || lpad(owner::text, 22, '0'), 'user-' || owner, 'user' from generate_series(0, ${OWNERS - 1}::int) as owner`);
  await db.execute(sql`
    insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
    select 'key_' || lpad(key::text, 22, '0'), 'Key ' || key, 'bench ' || key, '0000',
      'usr_' || lpad((key % ${OWNERS}::int)::text, 22, '0'), 0
    from generate_series(0, ${KEYS - 1}::int) as key`);
}

async function fillDay(db: Db, day: number, rows: number): Promise<void> {
  const table = sql.identifier(dayTable(day));
  const [from, to] = [day, day + DAY_MS].map((at) => sql.raw(`'${new Date(at).toISOString()}'`));
  await db.execute(sql`create table ${table} (like usage_records including defaults)`);
  await db.execute(sql`
    insert into ${table}
    select
      'req_' || ${TIME_DIGITS} || 'benchrow' || lpad(to_hex(row % 1048576), 5, '0'), to_timestamp(ms / 1000.0),
      'key_' || lpad(key::text, 22, '0'), ${CHANNEL}, 'model-' || (key / 10 * 7 + pick * 5) % ${MODELS}::int, outcome,
      outcome = 'ok', case outcome when 'ok' then 200 when 'error' then 502 when 'rate_limited' then 429 else 499 end,
      tokens, tokens / 4, tokens / 10, tokens / 20, false, latency, latency / 4, null
    from (
      select
        row, ${day}::bigint + floor(random() * 86400000)::bigint as ms, floor(${KEYS}::int * random() ^ 2.5)::int as key,
        floor(3 * random() ^ 2)::int as pick, floor(exp(4 + 5 * random()))::int as tokens,
        floor(exp(6.5 + (random() + random() + random() - 1.5) * 2.5))::int as latency,
        (array['error', 'error', 'aborted', 'rate_limited'])[floor(random() * 100)::int + 1] as ending
      from generate_series(1, ${rows}::int) as row
    ) as made, lateral (select coalesce(ending, 'ok') as outcome) as ended
    order by ms`);
  await db.execute(
    sql`alter table usage_records attach partition ${table} for values from (${from}) to (${to})`,
  );
}

async function sumDay(db: Db, day: number): Promise<void> {
  const table = sql.identifier(dayTable(day));
  await db.execute(sql`
    insert into usage_hours (
      hour, key_id, model, channel, requests, failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens,
      cached_tokens, reasoning_tokens
    )
    select date_trunc('hour', started_at, 'UTC'), key_id, model, channel, count(*),
      count(*) filter (where outcome in ('error', 'rate_limited')),
      count(*) filter (where outcome = 'rate_limited'), count(*) filter (where outcome = 'aborted'), sum(latency_ms),
      sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens)
    from ${table} group by 1, 2, 3, 4`);
  await db.execute(sql`
    insert into usage_slots
    select date_bin('10 minutes', started_at, 'epoch'), channel, count(*), count(*) filter (where outcome = 'error'),
      count(*) filter (where outcome = 'rate_limited'), sum(input_tokens), sum(output_tokens)
    from ${table} where started_at > now() - interval '2 days' group by 1, 2`);
  await db.execute(sql`
    insert into latency_hours
    select date_trunc('hour', started_at, 'UTC'), round(50 * ln(1 + latency_ms))::int, count(*), sum(latency_ms)
    from ${table} where started_at > now() - interval '2 days' group by 1, 2`);
}
