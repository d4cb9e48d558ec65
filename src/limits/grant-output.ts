import type { KeyUse } from "./key-use.ts";
import type { LimitedCall } from "./limits.ts";

/**
 * The output tokens that an admitted call may spend: what it asked for, or what remains beside its prompt.
 * Undefined when the key has no limit on tokens.
 */
export function grantOutput(call: LimitedCall, use: KeyUse): number | undefined {
  const { tokens, monthlyTokens } = call.limits;
  if (tokens === null && monthlyTokens === null) return undefined;
  const left = Math.min(
    tokens === null ? Infinity : tokens - use.tokens - use.reservedTokens,
    monthlyTokens === null ? Infinity : monthlyTokens - use.monthTokens - use.monthReservedTokens,
  );
  return Math.min(call.outputTokens, left - call.inputTokens);
}
