import { and, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys, formerApiKeys } from "../db/tables/api-keys.ts";
import { usageRecords } from "../db/tables/usage.ts";
import { users } from "../db/tables/users.ts";
import { type LostCall, WINDOW_MS } from "./limits.ts";
import { readOwners } from "./owner-usage.ts";
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
    const owners = await readOwners(
      this.#db,
      calls.map(({ keyId }) => keyId),
    );
    for (const call of calls) {
      const { id, keyId, startedAt, tokens } = call;
      // Rows in the database were there when the counters were loaded, or an earlier attempt counted them.
      if (stored.has(id) || this.#onTheWay.has(id)) continue;
      this.#onTheWay.add(id);
      const ownerId = owners.get(keyId);
      this.#counters.book(keyId, startedAt, tokens);
      if (ownerId !== undefined) this.#counters.book(ownerId, startedAt, tokens);
      this.#recent.add(call, ownerId);
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
  /** Each once, by the id of the key or of its owner and the call's: what is stored late is gathered twice. */
  readonly #calls = new Map<string, { readonly id: string; readonly at: number }>();
  #isPoured = false;

  /** Gathers the calls in the database; a call counts from its arrival. Does nothing once the windows are in use. */
  async load(db: Db, now: number): Promise<void> {
    if (this.#isPoured) return;
    const isRecent = gt(usageRecords.startedAt, new Date(now - WINDOW_MS));
    const ofKeys = await db
      .select({
        id: usageRecords.keyId,
        callId: usageRecords.id,
        startedAt: usageRecords.startedAt,
      })
      .from(usageRecords)
      .innerJoin(apiKeys, eq(apiKeys.id, usageRecords.keyId))
      .where(and(isRecent, isNotNull(apiKeys.rpmLimit)));
    const ofOwners = (keys: typeof apiKeys | typeof formerApiKeys) =>
      db
        .select({ id: users.id, callId: usageRecords.id, startedAt: usageRecords.startedAt })
        .from(usageRecords)
        .innerJoin(keys, eq(keys.id, usageRecords.keyId))
        .innerJoin(users, eq(users.id, keys.ownerId))
        .where(and(isRecent, isNotNull(users.rpmLimit)));
    const rows = [...ofKeys, ...(await ofOwners(apiKeys)), ...(await ofOwners(formerApiKeys))];
    for (const { id, callId, startedAt } of rows) this.#note(id, callId, startedAt.getTime());
  }

  /**
   * A call found after the windows are in use is ignored: it is older than their entries, and would leave them soon.
   */
  add({ id, keyId, startedAt }: LostCall, ownerId: string | undefined): void {
    this.#note(keyId, id, startedAt);
    if (ownerId !== undefined) this.#note(ownerId, id, startedAt);
  }

  /** @param now by the clock of the windows, which no call's time may exceed. */
  pourInto(counters: UsageCounters, now: number): void {
    this.#isPoured = true;
    const calls = [...this.#calls.values()].filter(({ at }) => at > now - WINDOW_MS);
    this.#calls.clear();
    calls.sort((one, other) => one.at - other.at);
    for (const { id, at } of calls) counters.of(id).rememberCall(Math.min(at, now));
  }

  #note(id: string, callId: string, at: number): void {
    if (!this.#isPoured) this.#calls.set(`${id} ${callId}`, { id, at });
  }
}
