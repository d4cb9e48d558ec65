import type { MonthlyUseObserver } from "../../limits/limits.ts";
import {
  type OpenAlertWebhookOptions,
  openAlertWebhook,
} from "../../queue/webhooks/open-alert-webhook.ts";
import { type AlertCheckOptions, createAlertCheck } from "./alert-check.ts";
import { openBudgetAlerts } from "./budget-alerts.ts";

export type OpenAlertsOptions = OpenAlertWebhookOptions & Omit<AlertCheckOptions, "webhook">;

/** What alerts come from. */
export interface Alerts {
  readonly monthlyUse: MonthlyUseObserver;
  /** Looks once for everything else that is to be warned of. Rejects as AlertCheck's `run` does. */
  readonly check: () => Promise<void>;
  /** Begins no further alert and claims no further event; both are there again at the next start. */
  readonly close: () => Promise<void>;
}

/** Raises alerts and delivers them from now on. */
export function openAlerts(options: OpenAlertsOptions): Alerts {
  const { delivery: webhook, close } = openAlertWebhook(options);
  const budgets = openBudgetAlerts({ ...options, webhook });
  const check = createAlertCheck({ ...options, webhook });
  return {
    monthlyUse: budgets,
    check: check.run,
    async close() {
      await Promise.all([budgets.close(), check.close(), close()]);
    },
  };
}
