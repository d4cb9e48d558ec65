import type { Admission, LimitedCall } from "../access/limits/limits.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
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

/** The code of a limit's last word; a call that is refused for its tokens may ask again. */
function refusalOf(thrown: unknown, { asksAgain }: Needs): ErrorCode | undefined {
  if (!(thrown instanceof ServiceError) || !REFUSALS.has(thrown.code)) return undefined;
  return asksAgain === true && TOKEN_REFUSALS.has(thrown.code) ? undefined : thrown.code;
}
