import { type KeyLimits, NO_LIMITS } from "../../../core/callers/caller.ts";
import type { ApiKeyFields } from "../api-key-record.ts";

type LimitColumns = Pick<
  ApiKeyFields,
  "monthlyTokenLimit" | "requestLimit" | "rpmLimit" | "tokenLimit"
>;

/** Returns the limits of a key; null when it has no limits. */
export function keyLimitsOf(row: LimitColumns): KeyLimits | null {
  const limits = {
    monthlyTokens: row.monthlyTokenLimit,
    requests: row.requestLimit,
    requestsPerMinute: row.rpmLimit,
    tokens: row.tokenLimit,
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

/** Returns the limits of a user; undefined when the user has no limits. */
export function personLimitsOf({
  monthlyTokenLimit: monthlyTokens,
  rpmLimit: requestsPerMinute,
}: Pick<LimitColumns, "monthlyTokenLimit" | "rpmLimit">): KeyLimits | undefined {
  if (monthlyTokens === null && requestsPerMinute === null) return undefined;
  return { ...NO_LIMITS, monthlyTokens, requestsPerMinute };
}
