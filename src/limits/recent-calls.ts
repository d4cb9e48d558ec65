import { and, eq, gt, isNotNull } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { usageRecords } from "../db/tables/usage.ts";
import { WINDOW_MS } from "./call-window.ts";
import type { LostCall } from "./limits.ts";
import type { UsageCounters } from "./usage-counters.ts";

/**
 * The calls of the last minute that processes before this one admitted, so that a start empties no window. Gathered in
 * any order and put into the windows once, before the first call of this process.
 */
export class RecentCalls {
  readonly #calls: { readonly keyId: string; readonly at: number }[] = [];
  #isPoured = false;

  /** Gathers what the database has; a call counts from its arrival. */
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

  /** One that is found after the windows are in use is older than what they hold, and leaves them soon. */
  add({ keyId, startedAt }: LostCall): void {
    if (!this.#isPoured) this.#calls.push({ keyId, at: startedAt });
  }

  /** @param now by the clock of the windows, which no time of a call may be beyond. */
  pourInto(counters: UsageCounters, now: number): void {
    this.#isPoured = true;
    const calls = this.#calls.splice(0).filter(({ at }) => at > now - WINDOW_MS);
    calls.sort((one, other) => one.at - other.at);
    for (const { keyId, at } of calls) counters.of(keyId).rememberCall(Math.min(at, now));
  }
}
