import { eq } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { type Alert, sendAlert } from "./send-alert.ts";

const DAY_MS = 86_400_000;

export type BudgetAlertType = "key_budget_warning" | "key_budget_exceeded";

/** The usage of a key's month. */
export interface BudgetUse {
  readonly keyId: string;
  readonly usedTokens: number;
  readonly monthlyTokenLimit: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/**
 * Sends an alert about a key's month, unless one of its type was sent about the key on the same UTC day.
 * @returns the alert that was sent; undefined when it was suppressed, or when the key is gone.
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

/** Builds the alert of a key. A refusal may come before 100 %, when too little was left for the call. */
function budgetAlert(
  type: BudgetAlertType,
  key: { readonly name: string; readonly ownerId: string },
  use: BudgetUse,
): Alert {
  const { usedTokens, monthlyTokenLimit: limit } = use;
  const month = new Date(use.at).toISOString().slice(0, "2026-01".length);
  // A limit of 0 counts as used up without any use.
  const percent = limit === 0 ? 100 : Math.floor((usedTokens / limit) * 100);
  const count = (tokens: number) => tokens.toLocaleString("en-US");
  const figures = `${count(usedTokens)} of ${count(limit)} tokens in ${month}`;
  return {
    type,
    text: `API key "${key.name}" ${stateOf(type, percent, limit)} (${figures}).`,
    details: {
      key_id: use.keyId,
      key_name: key.name,
      owner_id: key.ownerId,
      monthly_token_limit: limit,
      used_tokens: usedTokens,
      percent,
      month,
    },
  };
}

function stateOf(type: BudgetAlertType, percent: number, limit: number): string {
  if (type === "key_budget_warning") return `has used ${percent}% of its monthly token limit`;
  // The end of the month does not help.
  if (limit === 0)
    return "has a monthly token limit of 0; its calls are refused until it is raised";
  return percent >= 100
    ? "has used up its monthly token limit; its calls are refused until the month ends"
    : "has too little left of its monthly token limit; a call was refused";
}
