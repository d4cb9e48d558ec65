import type { KeyLimits } from "../../../core/caller.ts";
import type { ApiKeyFields } from "../api-key-record.ts";

type LimitColumns = Pick<
  ApiKeyFields,
  "monthlyTokenLimit" | "requestLimit" | "rpmLimit" | "tokenLimit"
>;

/** The limits of a key; null when nothing of it is limited. */
export function keyLimitsOf(row: LimitColumns): KeyLimits | null {
  const limits = {
    monthlyTokens: row.monthlyTokenLimit,
    requests: row.requestLimit,
    requestsPerMinute: row.rpmLimit,
    tokens: row.tokenLimit,
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}
