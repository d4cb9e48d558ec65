import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../db/context.ts";
import { DatabaseError, isFromDatabase, toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { within } from "../../lib/time/within.ts";
import type { MonthlyUseObserver } from "../../limits/limits.ts";
import { type BudgetAlertType, type BudgetUse, raiseBudgetAlert } from "./budget-alert.ts";

const WARNING_SHARE = 0.8;
const DAY_MS = 86_400_000;
/** Maximum of alerts that wait while the database is unavailable; further ones are raised by the key's next call. */
const WAITING_MAX = 10_000;
const TRANSACTION_TIMEOUT_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const CLOSE_MS = 1_000;
/**
 * Classes 22 and 23: a retry would fail the same way. Any other error, such as a lock or a read-only standby, is
 * temporary.
 */
const REFUSED_VALUES = /^2[23]/;

export interface BudgetAlertsOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  /** Woken when an alert is to be posted; undefined: alerts are only logged. */
  readonly webhook: { readonly wake: () => void } | undefined;
}

/** Alerts about keys that near or reach their monthly limit: one per type, key and UTC day, over all replicas. */
export interface BudgetAlerts extends MonthlyUseObserver {
  /** Starts no further alert; resolves when the one in progress has ended. */
  readonly close: () => Promise<void>;
}

/** Starts to observe. A notification costs one comparison; the alert is raised in the background. */
export function openBudgetAlerts(options: BudgetAlertsOptions): BudgetAlerts {
  const alerts = new Alerts(options);
  const warn = (keyId: string, settledTokens: number, limit: number) => {
    // A limit of 0 disables a key, so a warning is useless.
    if (settledTokens < limit * WARNING_SHARE || limit === 0) return;
    alerts.note("key_budget_warning", keyId, settledTokens, limit);
  };
  return {
    onMonthUse(keyId, settledTokens, limit) {
      warn(keyId, settledTokens, limit);
      if (settledTokens < limit || limit === 0) return;
      alerts.note("key_budget_exceeded", keyId, settledTokens, limit);
    },
    onMonthlyRefusal(keyId, settledTokens, limit) {
      warn(keyId, settledTokens, limit);
      alerts.note("key_budget_exceeded", keyId, settledTokens, limit);
    },
    close: () => alerts.close(),
  };
}

interface WaitingAlert {
  readonly type: BudgetAlertType;
  readonly use: BudgetUse;
}

class Alerts {
  readonly #options: BudgetAlertsOptions;
  /** The keys for which each alert was raised today; the database knows whether by this replica. */
  readonly #raised = {
    key_budget_warning: new Set<string>(),
    key_budget_exceeded: new Set<string>(),
  };
  #day = Number.NaN;
  /** By type and key. */
  readonly #waiting = new Map<string, WaitingAlert>();
  #work: Promise<void> | undefined;
  #isAway = false;
  readonly #closing = new AbortController();

  constructor(options: BudgetAlertsOptions) {
    this.#options = options;
  }

  note(type: BudgetAlertType, keyId: string, usedTokens: number, monthlyTokenLimit: number): void {
    const at = this.#options.clock.now();
    this.#turnDay(Math.floor(at / DAY_MS));
    if (this.#raised[type].has(keyId) || this.#waiting.size >= WAITING_MAX) return;
    this.#raised[type].add(keyId);
    this.#waiting.set(`${type} ${keyId}`, {
      type,
      use: { keyId, usedTokens, monthlyTokenLimit, at },
    });
    this.#work ??= this.#raiseAll();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([this.#work, sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  #turnDay(day: number): void {
    if (day === this.#day) return;
    this.#day = day;
    for (const keys of Object.values(this.#raised)) keys.clear();
  }

  /** Raises the waiting alerts one after the other, oldest first, until all are raised. Never rejects. */
  async #raiseAll(): Promise<void> {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const [oldest] = this.#waiting;
      if (oldest === undefined || signal.aborted) break;
      const [name, alert] = oldest;
      while (!signal.aborted && !(await this.#raise(alert))) {
        await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
      pauseMs = FIRST_PAUSE_MS;
      // The next day's alert may have replaced it.
      if (this.#waiting.get(name) === alert) this.#waiting.delete(name);
    }
    this.#work = undefined;
  }

  /** Resolves with false when the alert must be retried, because the database does not take it now. Never rejects. */
  async #raise(waiting: WaitingAlert): Promise<boolean> {
    const { db, log, webhook } = this.#options;
    try {
      const alert = await within(
        raiseBudgetAlert(db, waiting, webhook !== undefined),
        TRANSACTION_TIMEOUT_MS,
        () => new DatabaseError("CONNECT_TIMEOUT", "The query timed out."),
      );
      this.#isAway = false;
      if (alert === undefined) return true;
      log.warn({ type: alert.type, ...alert.details }, alert.text);
      webhook?.wake();
      return true;
    } catch (thrown) {
      const error = toDatabaseError(thrown);
      const facts = { type: waiting.type, key_id: waiting.use.keyId, cause: error.message };
      if (!isFromDatabase(thrown) || REFUSED_VALUES.test(error.code)) {
        log.error(facts, "a budget alert could not be sent");
        return true;
      }
      if (!this.#isAway)
        log.warn(facts, "budget alerts are delayed until the database is reachable");
      this.#isAway = true;
      return false;
    }
  }
}
