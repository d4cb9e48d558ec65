import { gt, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys, deletedApiKeys } from "../db/tables/api-keys.ts";
import { usageMonths } from "../db/tables/usage.ts";
import { KeyCounters, type UtcMonth, utcMonth } from "./key-counters.ts";
import { readOwnersUsage } from "./owner-usage.ts";

/** The usage of every key and user, by id, in memory. One that was never used has no entry. */
export class UsageCounters {
  readonly #keys = new Map<string, KeyCounters>();
  #lastMonth: UtcMonth = { beginsAt: 0, endsAt: 0 };

  /** Adds the usage in the database. */
  async load(db: Db, now: number): Promise<void> {
    const firstMonth = await this.#firstMonth(db, now);
    await readUsage(db, firstMonth, ({ keyId, monthBeginsAt, requests, tokens }) => {
      const key = this.of(keyId);
      key.requests += requests;
      key.tokens += tokens;
      if (monthBeginsAt !== null) key.month(monthBeginsAt).tokens += tokens;
    });
    await readOwnersUsage(db, firstMonth, ({ userId, monthBeginsAt, tokens }) => {
      this.of(userId).month(monthBeginsAt).tokens += tokens;
    });
  }

  /**
   * Raises the counters to the database's sums where those are greater, because another process has counted there. The
   * usage of this process lags behind in the database and never leads, so nothing counts twice.
   * @param callsUnderWay by key, once the database is read, which does not include them.
   */
  async raise(
    db: Db,
    now: number,
    callsUnderWay: () => ReadonlyMap<string, number>,
  ): Promise<void> {
    const sums = new Map<string, { requests: number; tokens: number }>();
    const firstMonth = await this.#firstMonth(db, now);
    await readUsage(db, firstMonth, ({ keyId, monthBeginsAt, requests, tokens }) => {
      const sum = sums.get(keyId);
      sums.set(keyId, {
        requests: requests + (sum?.requests ?? 0),
        tokens: tokens + (sum?.tokens ?? 0),
      });
      if (monthBeginsAt === null) return;
      const month = this.of(keyId).month(monthBeginsAt);
      month.tokens = Math.max(month.tokens, tokens);
    });
    await readOwnersUsage(db, firstMonth, ({ userId, monthBeginsAt, tokens }) => {
      const month = this.of(userId).month(monthBeginsAt);
      month.tokens = Math.max(month.tokens, tokens);
    });
    const underWay = callsUnderWay();
    for (const [keyId, { requests, tokens }] of sums) {
      const key = this.of(keyId);
      key.requests = Math.max(key.requests, requests + (underWay.get(keyId) ?? 0));
      key.tokens = Math.max(key.tokens, tokens);
    }
  }

  /** Returns the counters of a key, and creates missing ones. */
  of(keyId: string): KeyCounters {
    const known = this.#keys.get(keyId);
    if (known !== undefined) return known;
    const made = new KeyCounters();
    this.#keys.set(keyId, made);
    return made;
  }

  /** Returns the counters read-only: no entry is created for a key that was never used. */
  peek(keyId: string): KeyCounters {
    return this.#keys.get(keyId) ?? new KeyCounters();
  }

  /**
   * Counts a call that has ended.
   * @param startedAt Unix milliseconds.
   * @param tokens the tokens charged: input and output, or more where they were not counted.
   */
  book(keyId: string, startedAt: number, tokens: number): void {
    const key = this.of(keyId);
    key.requests += 1;
    key.book(key.month(this.monthOf(startedAt).beginsAt), tokens);
  }

  /**
   * Returns the month of a moment in Unix milliseconds. The last one is cached, as nearly all calls are of the same
   * month.
   */
  monthOf(at: number): UtcMonth {
    const last = this.#lastMonth;
    if (at < last.beginsAt || at >= last.endsAt) this.#lastMonth = utcMonth(at);
    return this.#lastMonth;
  }

  forget(keyIds: readonly string[]): void {
    for (const keyId of keyIds) this.#keys.delete(keyId);
  }

  /** Frees the memory of empty windows. */
  dropEmptyWindows(steadyNow: number): void {
    for (const key of this.#keys.values()) key.dropEmptyWindow(steadyNow);
  }

  /** Returns the first month to read separately, as `2026-07-01`: calls of the previous one may still be in progress. */
  #firstMonth(db: Db, now: number): Promise<string> {
    const since = utcMonth(this.monthOf(now).beginsAt - 1).beginsAt;
    return firstMonthToTell(db, new Date(since).toISOString().slice(0, 10));
  }
}

/** The usage of a key in one month, or in all months before those that are read separately. */
export interface KeyUsage {
  readonly keyId: string;
  /** The month's beginning in Unix milliseconds; null: all earlier months together. */
  readonly monthBeginsAt: number | null;
  readonly requests: number;
  /** Charged: input, output and extra charge. */
  readonly tokens: number;
}

type UsageRow = {
  readonly id: string;
  readonly month_begins_at: number | null;
  readonly requests: number;
  readonly tokens: number;
};

/** Keys per page, so that 100,000 are not in memory twice. */
const PAGE_KEYS = 5_000;

/** This many months of use are read separately whatever the clock: one of them may come from a clock that was ahead. */
const LATEST_MONTHS = 3;

/** Reports the usage of each existing key, month by month from `firstMonth`. A key's months come in order. */
async function readUsage(
  db: Db,
  firstMonth: string,
  onUsage: (usage: KeyUsage) => void,
): Promise<void> {
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

/**
 * Returns `since`, or the first of the latest months of use if that is earlier, as `2026-07-01`. The clock may be ahead
 * and be corrected later.
 */
async function firstMonthToTell(db: Db, since: string): Promise<string> {
  const [row] = await db.execute<{ month: string | null }>(sql`
    select min(month)::text as month
    from (select distinct month from ${usageMonths} order by month desc limit ${LATEST_MONTHS}) as latest`);
  const latest = row?.month ?? since;
  return latest < since ? latest : since;
}

/** Reads the ids of the keys that were deleted in the last two hours. */
export async function readDeletedKeys(db: Db): Promise<string[]> {
  const rows = await db
    .select({ id: deletedApiKeys.id })
    .from(deletedApiKeys)
    .where(gt(deletedApiKeys.deletedAt, sql`now() - interval '2 hours'`));
  return rows.map(({ id }) => id);
}
