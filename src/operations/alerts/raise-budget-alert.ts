import { eq } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { type BudgetAlertType, type BudgetUse, budgetAlert } from "./budget-alert.ts";
import { type Alert, sendAlert } from "./send-alert.ts";

const DAY_MS = 86_400_000;

/**
 * Sends an alert about a key's month, unless one of its type was sent about the key on the same UTC day.
 *
 * @returns the alert that was sent; undefined when none was, or when the key is gone.
 */
export function raiseBudgetAlert(
  db: Db,
  { type, use }: { readonly type: BudgetAlertType; readonly use: BudgetUse },
  hasWebhook: boolean,
): Promise<Alert | undefined> {
  return withTransaction(db, async (transaction) => {
    const [key] = await transaction
      .select({ name: apiKeys.name, ownerId: apiKeys.ownerId })
      .from(apiKeys)
      .where(eq(apiKeys.id, use.keyId));
    if (key === undefined) return undefined;
    const alert = budgetAlert(type, key, use);
    const isSent = await sendAlert(transaction, alert, {
      subject: use.keyId,
      windowFrom: use.at - (use.at % DAY_MS),
      now: use.at,
      hasWebhook,
    });
    return isSent ? alert : undefined;
  });
}
