import type { Answers } from "./answers.ts";
import type { Requests } from "./requests.ts";
import { IDLE_IN_TRANSACTION_MS, IDLE_MS, TIMEOUT_GRACE_MS } from "./session-limits.ts";

/** What a session waits for, and for how long at most. */
export interface SessionWait {
  readonly limitMs: number;
  /** How the session ends then; null where the statement in progress is cancelled. */
  readonly end: { readonly code: string; readonly text: string } | null;
}

interface SessionState {
  readonly answers: Pick<Answers, "count" | "status">;
  readonly requests: Pick<Requests, "isBeforeSync">;
  /** Messages of the client are being handled. */
  readonly isBusy: boolean;
  readonly timeoutSeconds: number;
}

/** Undefined while nothing is waited for. */
export function waitOf(session: SessionState): SessionWait | undefined {
  const { answers, requests, isBusy, timeoutSeconds } = session;
  if (answers.count > 0) return { limitMs: timeoutSeconds * 1000 + TIMEOUT_GRACE_MS, end: null };
  if (isBusy) return undefined;
  if (answers.status !== "I" || requests.isBeforeSync) {
    const text = "The connection was idle in a transaction for 60 seconds.";
    return { limitMs: IDLE_IN_TRANSACTION_MS, end: { code: "25P03", text } };
  }
  const text = "The connection was idle for an hour.";
  return { limitMs: IDLE_MS, end: { code: "57P05", text } };
}
