import type { KeyLimits } from "../core/caller.ts";
import type { KeyUse } from "./key-use.ts";
import type { LimitReport, LimitUse } from "./limits.ts";

/** Where a key stands, one entry a limit that it has. */
export function reportOf(limits: KeyLimits, use: KeyUse): LimitReport {
  const report: { -readonly [Limit in keyof KeyLimits]?: LimitUse } = {};
  const { requestsPerMinute, requests, tokens, monthlyTokens } = limits;
  if (requestsPerMinute !== null) {
    const resetsAt = use.now + use.windowEmptiesInMs;
    report.requestsPerMinute = limitUse(requestsPerMinute, use.windowCalls, 0, resetsAt);
  }
  if (requests !== null) report.requests = limitUse(requests, use.requests, 0, null);
  if (tokens !== null) report.tokens = limitUse(tokens, use.tokens, use.reservedTokens, null);
  if (monthlyTokens !== null) {
    const { monthTokens, monthReservedTokens, monthEndsAt } = use;
    report.monthlyTokens = limitUse(monthlyTokens, monthTokens, monthReservedTokens, monthEndsAt);
  }
  return report;
}

function limitUse(
  limit: number,
  used: number,
  reserved: number,
  resetsAt: number | null,
): LimitUse {
  return { limit, used, reserved, remaining: Math.max(0, limit - used - reserved), resetsAt };
}
