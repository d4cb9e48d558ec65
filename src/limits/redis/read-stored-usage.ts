import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys, formerApiKeys } from "../../db/tables/api-keys.ts";
import { usageMonths, usageRecords } from "../../db/tables/usage.ts";
import { sessionMonths } from "../../db/tables/users.ts";

/** The usage of one key in the database at one moment. Usage still in a journal is not included. */
export interface StoredUsage {
  /** Over the key's life. */
  readonly requests: number;
  readonly tokens: number;
  /** The latest months. */
  readonly months: readonly { readonly month: string; readonly tokens: number }[];
  /** The calls asked for whose row exists: they have ended, and are in the sums. */
  readonly ended: readonly { readonly id: string; readonly tokens: number }[];
}

/** No call takes longer than a day. */
const CALL_AGE_MAX_MS = 2 * 24 * 60 * 60_000;

/**
 * Reads a key's sums and the rows of calls that may be in progress, all as of one moment.
 * @param since the first month to be returned separately, as `2026-07`, unless that of the database's clock is earlier.
 * @param now Unix milliseconds: only the days in which such calls can have begun are searched.
 */
export async function readStoredUsage(
  db: Db,
  keyId: string,
  {
    since,
    ids,
    now,
  }: { readonly since: string; readonly ids: readonly string[]; readonly now: number },
): Promise<StoredUsage> {
  const wanted = JSON.stringify(ids);
  const rows = await db.execute<StoredRow>(sql`
    select '' as name, coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(tokens), 0)::float8 as tokens
    from ${usageMonths} where key_id = ${keyId}
    union all
    select to_char(month, 'YYYY-MM'), requests::float8, tokens::float8
    from ${usageMonths} where key_id = ${keyId} and month >= ${firstMonth(since)}
    union all
    ${endedCalls(wanted, now)}`);
  return storedOf(rows);
}

/** Reads the same of a user: the sums of all keys, deleted ones included, and of all sessions. */
export async function readStoredUsageOfUser(
  db: Db,
  userId: string,
  {
    since,
    ids,
    now,
  }: { readonly since: string; readonly ids: readonly string[]; readonly now: number },
): Promise<StoredUsage> {
  const wanted = JSON.stringify(ids);
  const rows = await db.execute<StoredRow>(sql`
    with used as (
      select month, tokens from ${usageMonths}
      where month >= ${firstMonth(since)} and key_id in (
        select id from ${apiKeys} where owner_id = ${userId}
        union select id from ${formerApiKeys} where owner_id = ${userId})
      union all
      select month, tokens from ${sessionMonths}
      where month >= ${firstMonth(since)} and user_id = ${userId}
    )
    select '' as name, 0::float8 as requests, coalesce(sum(tokens), 0)::float8 as tokens from used
    union all
    select to_char(month, 'YYYY-MM'), 0::float8, sum(tokens)::float8 from used group by month
    union all
    ${endedCalls(wanted, now)}`);
  return storedOf(rows);
}

/** A process whose clock is ahead must not leave out the month of all others. */
function firstMonth(since: string): SQL {
  return sql`least(${`${since}-01`}::date, (date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date)`;
}

type StoredRow = { name: string; requests: number; tokens: number };

/** The rows of calls that may be in progress; -1 requests mark them. */
function endedCalls(wanted: string, now: number): SQL {
  return sql`
    select id, -1, (input_tokens + output_tokens + extra_charge)::float8
    from ${usageRecords}
    where started_at > to_timestamp(${now - CALL_AGE_MAX_MS}::float8 / 1000)
      and id in (select json_array_elements_text(${wanted}::text::json))`;
}

/** The first row is the sum. */
function storedOf(rows: readonly StoredRow[]): StoredUsage {
  const [sums] = rows;
  const rest = rows.slice(1);
  return {
    requests: sums?.requests ?? 0,
    tokens: sums?.tokens ?? 0,
    months: rest
      .filter(({ requests }) => requests >= 0)
      .map(({ name: month, tokens }) => ({ month, tokens })),
    ended: rest
      .filter(({ requests }) => requests < 0)
      .map(({ name: id, tokens }) => ({ id, tokens })),
  };
}
