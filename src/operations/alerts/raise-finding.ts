import type { AlertRule, Finding } from "../../core/part.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { sendAlert } from "./send-alert.ts";

export interface RaiseOptions {
  /** Unix milliseconds. */
  readonly now: number;
  readonly hasWebhook: boolean;
}

/** Sends a rule's finding, unless an alert about it was sent in the rule's window. Resolves with whether it is sent. */
export function raiseFinding(
  db: Db,
  rule: AlertRule,
  { subject, text, details, since = 0 }: Finding,
  { now, hasWebhook }: RaiseOptions,
): Promise<boolean> {
  const alert = { type: rule.type, text, details };
  const occasion = {
    subject,
    windowFrom: windowStart(rule, since, now),
    // Clocks differ a little, and an alert must not precede its cause.
    now: Math.max(now, since),
    hasWebhook,
    waitsForItself: rule.waitsForItself === true,
  };
  return withTransaction(db, (transaction) => sendAlert(transaction, alert, occasion));
}

/** Returns the start of the window: an alert since this moment suppresses the next one. */
function windowStart({ window }: AlertRule, since: number, now: number): number {
  if (window === "permanently") return 0;
  if (window === "while it lasts") return since;
  // The end of a window is exclusive.
  return now - window + 1;
}
