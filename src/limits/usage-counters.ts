import type { Db } from "../db/context.ts";
import { KeyCounters } from "./key-counters.ts";
import { readUsage } from "./read-usage.ts";
import { type UtcMonth, utcMonth } from "./utc-month.ts";

/** What every key has used, in memory. A key that was never used has no entry. */
export class UsageCounters {
  readonly #keys = new Map<string, KeyCounters>();
  #lastMonth: UtcMonth = { beginsAt: 0, endsAt: 0 };

  /** Adds what the database has. */
  async load(db: Db, now: number): Promise<void> {
    await readUsage(db, this.#firstMonth(now), ({ keyId, monthBeginsAt, requests, tokens }) => {
      const key = this.of(keyId);
      key.requests += requests;
      key.tokens += tokens;
      if (monthBeginsAt !== null) key.month(monthBeginsAt).tokens += tokens;
    });
  }

  /**
   * Raises the counters to what the database has, where that is more: another process has counted there. What was used
   * here lags behind in the database and never leads, so nothing counts twice.
   *
   * @param callsUnderWay by key, once the database is read: it does not have them.
   */
  async raise(
    db: Db,
    now: number,
    callsUnderWay: () => ReadonlyMap<string, number>,
  ): Promise<void> {
    const sums = new Map<string, { requests: number; tokens: number }>();
    await readUsage(db, this.#firstMonth(now), ({ keyId, monthBeginsAt, requests, tokens }) => {
      const sum = sums.get(keyId);
      sums.set(keyId, {
        requests: requests + (sum?.requests ?? 0),
        tokens: tokens + (sum?.tokens ?? 0),
      });
      if (monthBeginsAt === null) return;
      const month = this.of(keyId).month(monthBeginsAt);
      month.tokens = Math.max(month.tokens, tokens);
    });
    const underWay = callsUnderWay();
    for (const [keyId, { requests, tokens }] of sums) {
      const key = this.of(keyId);
      key.requests = Math.max(key.requests, requests + (underWay.get(keyId) ?? 0));
      key.tokens = Math.max(key.tokens, tokens);
    }
  }

  /** The counters of a key, made when there are none. */
  of(keyId: string): KeyCounters {
    const known = this.#keys.get(keyId);
    if (known !== undefined) return known;
    const made = new KeyCounters();
    this.#keys.set(keyId, made);
    return made;
  }

  /** To look at alone: nothing is kept for a key that was never used. */
  peek(keyId: string): KeyCounters {
    return this.#keys.get(keyId) ?? new KeyCounters();
  }

  /**
   * Counts a call that is over.
   *
   * @param startedAt Unix milliseconds.
   * @param tokens input and output.
   */
  book(keyId: string, startedAt: number, tokens: number): void {
    const key = this.of(keyId);
    key.requests += 1;
    key.book(key.month(this.monthOf(startedAt).beginsAt), tokens);
  }

  /** The month of a moment in Unix milliseconds. The last one is kept, as nearly all calls are of the same. */
  monthOf(at: number): UtcMonth {
    const last = this.#lastMonth;
    if (at < last.beginsAt || at >= last.endsAt) this.#lastMonth = utcMonth(at);
    return this.#lastMonth;
  }

  forget(keyIds: readonly string[]): void {
    for (const keyId of keyIds) this.#keys.delete(keyId);
  }

  /** Gives back the memory of the windows that nothing is in any more. */
  dropEmptyWindows(steadyNow: number): void {
    for (const key of this.#keys.values()) key.dropEmptyWindow(steadyNow);
  }

  /** Calls of the month before may still be under way. */
  #firstMonth(now: number): number {
    return utcMonth(this.monthOf(now).beginsAt - 1).beginsAt;
  }
}
