import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { usageMonths } from "../db/tables/usage.ts";

/** What a key has used in one month, or in all months before those that are told one by one. */
export interface KeyUsage {
  readonly keyId: string;
  /** The month's beginning in Unix milliseconds; null: all earlier months together. */
  readonly monthBeginsAt: number | null;
  readonly requests: number;
  /** Input and output. */
  readonly tokens: number;
}

type UsageRow = {
  readonly id: string;
  readonly month_begins_at: number | null;
  readonly requests: number;
  readonly tokens: number;
};

/** Keys read in one go, so that 100,000 are not in memory twice. */
const PAGE_KEYS = 5_000;

/** So many months of use are told one by one whatever the clock says: one of them may be of a clock that was ahead. */
const LATEST_MONTHS = 3;

/**
 * Tells of each key that exists what it has used, month by month from `since` on, given in Unix milliseconds, and from
 * the latest months of use on, for the clock may be ahead and be set right later. A key's months come in their order.
 */
export async function readUsage(
  db: Db,
  since: number,
  onUsage: (usage: KeyUsage) => void,
): Promise<void> {
  const firstMonth = await firstMonthToTell(db, new Date(since).toISOString().slice(0, 10));
  let lastId = "";
  for (;;) {
    const [page] = await db.execute<{ last: string | null; keys: number }>(sql`
      select max(id) as last, count(*)::int as keys
      from (select id from ${apiKeys} where id > ${lastId} order by id limit ${PAGE_KEYS}) as page`);
    if (page === undefined || page.last === null) return;
    const rows = await db.execute<UsageRow>(sql`
      select
        key_id as id, sum(requests)::float8 as requests, sum(tokens)::float8 as tokens,
        extract(epoch from case when month >= ${firstMonth}::date then month end)::float8 * 1000 as month_begins_at
      from ${usageMonths}
      where key_id in (select id from ${apiKeys} where id > ${lastId} and id <= ${page.last})
      group by key_id, month_begins_at
      order by key_id, month_begins_at`);
    for (const { id: keyId, month_begins_at: monthBeginsAt, requests, tokens } of rows) {
      onUsage({ keyId, monthBeginsAt, requests, tokens });
    }
    lastId = page.last;
  }
}

/** As `2026-07-01`. */
async function firstMonthToTell(db: Db, since: string): Promise<string> {
  const [row] = await db.execute<{ month: string | null }>(sql`
    select min(month)::text as month
    from (select distinct month from ${usageMonths} order by month desc limit ${LATEST_MONTHS}) as latest`);
  const latest = row?.month ?? since;
  return latest < since ? latest : since;
}
