import type { Alert } from "./send-alert.ts";

export type BudgetAlertType = "key_budget_warning" | "key_budget_exceeded";

/** What was seen of a key's month. */
export interface BudgetUse {
  readonly keyId: string;
  readonly usedTokens: number;
  readonly monthlyTokenLimit: number;
  /** Unix milliseconds. */
  readonly at: number;
}

export interface BudgetKey {
  readonly name: string;
  readonly ownerId: string;
}

/** What is told about a key's month. It may be less than full when refused: too little was left for the call. */
export function budgetAlert(type: BudgetAlertType, key: BudgetKey, use: BudgetUse): Alert {
  const { usedTokens, monthlyTokenLimit: limit } = use;
  const month = new Date(use.at).toISOString().slice(0, "2026-01".length);
  // A limit of 0 is used up by nothing.
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
  // No month's end brings more.
  if (limit === 0)
    return "has a monthly token limit of 0; its calls are refused until it is raised";
  return percent >= 100
    ? "has used up its monthly token limit; its calls are refused until the month ends"
    : "has too little left of its monthly token limit; a call was refused";
}
