import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { usageRecords } from "../db/tables/usage.ts";
import { type LostCall, WINDOW_MS } from "./limits.ts";
import type { UsageCounters } from "./usage-counters.ts";

/** Counts the calls of lost processes, each once, as their rows reach the database. */
export class LostCalls {
  readonly #db: Db;
  readonly #counters: UsageCounters;
  readonly #recent: RecentCalls;
  /** Calls that are counted and being stored: a failed attempt may or may not have stored them. */
  readonly #onTheWay = new Set<string>();

  /** @param counters loaded before any lost call is stored. */
  constructor(db: Db, counters: UsageCounters, recent: RecentCalls) {
    this.#db = db;
    this.#counters = counters;
    this.#recent = recent;
  }

  async settle(calls: readonly LostCall[], store: () => Promise<void>): Promise<void> {
    const stored = await this.#findStored(calls);
    for (const call of calls) {
      const { id, keyId, startedAt, tokens } = call;
      // Rows in the database were there when the counters were loaded, or an earlier attempt counted them.
      if (stored.has(id) || this.#onTheWay.has(id)) continue;
      this.#onTheWay.add(id);
      this.#counters.book(keyId, startedAt, tokens);
      this.#recent.add(call);
    }
    await store();
    for (const { id } of calls) this.#onTheWay.delete(id);
  }

  async #findStored(calls: readonly LostCall[]): Promise<ReadonlySet<string>> {
    if (calls.length === 0) return new Set();
    const ids = JSON.stringify(calls.map(({ id }) => id));
    const starts = calls.map(({ startedAt }) => startedAt);
    // Restricts the query to the days of these calls.
    const [first, last] = [Math.min(...starts) - 1, Math.max(...starts) + 1].map(
      (at) => sql`to_timestamp(${Math.max(0, at)}::float8 / 1000)`,
    );
    const rows = await this.#db.execute<{ id: string }>(sql`
      select id from ${usageRecords}
      where started_at between ${first} and ${last}
        and id in (select json_array_elements_text(${ids}::text::json))`);
    return new Set(rows.map(({ id }) => id));
  }
}

/**
 * The calls of the last minute that earlier processes admitted, so that a start does not empty the windows. They are
 * gathered in any order and put into the windows once, before the first call of this process.
 */
export class RecentCalls {
  readonly #calls: { readonly keyId: string; readonly at: number }[] = [];
  #isPoured = false;

  /** Gathers the calls in the database; a call counts from its arrival. */
  async load(db: Db, now: number): Promise<void> {
    const rows = await db
      .select({ keyId: usageRecords.keyId, startedAt: usageRecords.startedAt })
      .from(usageRecords)
      .innerJoin(apiKeys, eq(apiKeys.id, usageRecords.keyId))
      .where(
        and(gt(usageRecords.startedAt, new Date(now - WINDOW_MS)), isNotNull(apiKeys.rpmLimit)),
      );
    for (const { keyId, startedAt } of rows) this.#calls.push({ keyId, at: startedAt.getTime() });
  }

  /**
   * A call found after the windows are in use is ignored: it is older than their entries, and would leave them soon.
   */
  add({ keyId, startedAt }: LostCall): void {
    if (!this.#isPoured) this.#calls.push({ keyId, at: startedAt });
  }

  /** @param now by the clock of the windows, which no call's time may exceed. */
  pourInto(counters: UsageCounters, now: number): void {
    this.#isPoured = true;
    const calls = this.#calls.splice(0).filter(({ at }) => at > now - WINDOW_MS);
    calls.sort((one, other) => one.at - other.at);
    for (const { keyId, at } of calls) counters.of(keyId).rememberCall(Math.min(at, now));
  }
}
