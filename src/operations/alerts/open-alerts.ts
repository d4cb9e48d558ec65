import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { MonthlyUseObserver } from "../../limits/limits.ts";
import { type AlertCheckOptions, createAlertCheck } from "./alert-check.ts";
import { openBudgetAlerts } from "./budget-alerts.ts";

export interface OpenAlertsOptions extends Pick<AlertCheckOptions, "webhook"> {
  /** Read at each check. */
  readonly parts: readonly Pick<Part, "alerts">[];
}

export interface Alerts extends Part {
  /** Raises the alerts about keys that near or reach their monthly limit. */
  readonly monthlyUse: MonthlyUseObserver;
  /** Evaluates the rules of all parts once. */
  readonly check: () => Promise<void>;
  /** Starts no further alert. */
  readonly close: () => Promise<void>;
}

/** An engine that is started together with the gateway may need a moment. */
const FIRST_CHECK_MS = 60_000;

/** Starts the alerts of all areas: those about a key's month as it is used, the others in a job. */
export function openAlerts(
  { settings, database, clock, log }: Base,
  { parts, webhook }: OpenAlertsOptions,
): Alerts {
  const rules = () => parts.flatMap((part) => part.alerts ?? []);
  const common = { db: database.db, clock, log, webhook };
  const budgets = openBudgetAlerts(common);
  const check = createAlertCheck({ ...common, rules });
  return {
    monthlyUse: budgets,
    check: check.run,
    jobs: [
      {
        name: "check alerts",
        pauseMs: settings.ALERT_CHECK_INTERVAL_SEC * 1_000,
        firstMs: FIRST_CHECK_MS,
        run: check.run,
      },
    ],
    async close() {
      await Promise.all([budgets.close(), check.close()]);
    },
  };
}
