import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../db/context.ts";
import { DatabaseError, isFromDatabase, toDatabaseError } from "../../db/database-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/within.ts";
import type { MonthlyUseObserver } from "../../limits/limits.ts";
import { type BudgetAlertType, type BudgetUse, raiseBudgetAlert } from "./budget-alert.ts";

const WARNING_SHARE = 0.8;
const DAY_MS = 86_400_000;
/** Alerts that wait while the database is away; what is beyond comes with the key's next call. */
const WAITING_MAX = 10_000;
const TRANSACTION_TIMEOUT_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const CLOSE_MS = 1_000;
/** Classes 22 and 23: another try would end the same way. Anything else, as a lock or a read-only standby, passes. */
const REFUSED_VALUES = /^2[23]/;

export interface BudgetAlertsOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  /** Woken when an alert is to be posted; where it is undefined, alerts are only logged. */
  readonly webhook: { readonly wake: () => void } | undefined;
}

/** Alerts about keys that near or reach their monthly limit: one a type, key and UTC day, over all replicas. */
export interface BudgetAlerts extends MonthlyUseObserver {
  /** Begins no further alert; resolves when the one in progress is over. */
  readonly close: () => Promise<void>;
}

/** Watches from now on. A notification costs a comparison; what follows from it happens in the background. */
export function openBudgetAlerts(options: BudgetAlertsOptions): BudgetAlerts {
  const alerts = new Alerts(options);
  const warn = (keyId: string, settledTokens: number, limit: number) => {
    // A limit of 0 switches a key off: there is nothing to warn of.
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
  /** The keys of whom each alert was raised today; whether by this replica is in the database. */
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

  /** Raises what waits, one after the other, oldest first, for as long as it takes. Never rejects. */
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
      // The next day's may have taken its place.
      if (this.#waiting.get(name) === alert) this.#waiting.delete(name);
    }
    this.#work = undefined;
  }

  /** Resolves with false when it is to be tried again: the database does not take it now. Never rejects. */
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
      if (!this.#isAway) log.warn(facts, "budget alerts wait for the database");
      this.#isAway = true;
      return false;
    }
  }
}
