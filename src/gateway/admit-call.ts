import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import type { Admission, LimitedCall } from "../limits/limits.ts";
import type { ClientCall, Gateway } from "./gateway.ts";

/** What a call may spend at most, prompt and answer. */
type Needs = Pick<LimitedCall, "inputTokens" | "outputTokens" | "asksAgain">;

/** What says that a key has too few tokens left for a call. */
export const TOKEN_REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "token_limit_exceeded",
  "monthly_limit_exceeded",
]);
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  ...TOKEN_REFUSALS,
  "rate_limit_exceeded",
  "request_limit_exceeded",
]);

/**
 * Admits a call of a key that has limits, and reserves what it needs; who gets an admission has to settle it, which
 * `openMetered` takes over. Undefined where nothing limits the caller. Throws, or rejects with, a `ServiceError`: 429
 * that names the limit, which is counted, or `storage_unavailable`.
 */
export function admitCall(
  { limits, refusals }: Pick<Gateway, "limits" | "refusals">,
  { requestId: id, caller, channel, startedAt }: ClientCall,
  needs: Needs,
): Admission | Promise<Admission> | undefined {
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  const { keyId } = caller;
  const refuse = (thrown: unknown): never => {
    const code = refusalOf(thrown, needs);
    if (code !== undefined) refusals?.count({ keyId, channel, code, at: startedAt });
    throw thrown;
  };
  try {
    const admission = limits.admit({ id, keyId, limits: caller.limits, startedAt, ...needs });
    return admission instanceof Promise ? admission.catch(refuse) : admission;
  } catch (thrown) {
    return refuse(thrown);
  }
}

/** How a call may be judged before its body is read. */
export interface EarlyJudgement {
  /** Its body is long, or of a length that nobody knows. */
  readonly isLarge: boolean;
  /** It is metered by nothing but its key's limit of requests a minute, and counts there. */
  readonly countsInMinute?: true | undefined;
}

/**
 * Refuses a call of a key of which a limit is 0 or used up, before anything but its headers is known. A call that is
 * let in is still to be admitted. Throws, or rejects with, what `admitCall` does; the refusal is counted.
 */
export function refuseExhausted(
  { limits, refusals }: Pick<Gateway, "limits" | "refusals">,
  { requestId: id, caller, channel, startedAt }: Omit<ClientCall, "signal">,
  { isLarge, countsInMinute }: EarlyJudgement,
): Promise<void> | undefined {
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  const { keyId } = caller;
  const refuse = (thrown: unknown): never => {
    if (thrown instanceof ServiceError && REFUSALS.has(thrown.code))
      refusals?.count({ keyId, channel, code: thrown.code, at: startedAt });
    throw thrown;
  };
  const call = { id, keyId, limits: caller.limits, startedAt, isLarge };
  try {
    return (countsInMinute ? limits.countInMinute(call) : limits.refuseExhausted(call))?.catch(
      refuse,
    );
  } catch (thrown) {
    return refuse(thrown);
  }
}

/** The code of a limit's last word; a call that is refused for its tokens may ask again. */
function refusalOf(thrown: unknown, { asksAgain }: Needs): ErrorCode | undefined {
  if (!(thrown instanceof ServiceError) || !REFUSALS.has(thrown.code)) return undefined;
  return asksAgain === true && TOKEN_REFUSALS.has(thrown.code) ? undefined : thrown.code;
}
