import type { LimitMeter, LimitStatus } from "../core/limit-status.ts";
import type { LimitReport } from "./limits.ts";

/** Of a key's limits the ones with the least left, which is what a client can act upon. */
export function statusOf(report: LimitReport): LimitStatus {
  return {
    requests: scarcer(report.requests, report.requestsPerMinute),
    tokens: scarcer(report.tokens, report.monthlyTokens),
  };
}

/** Of equals the first: what lasts for the key's life. */
function scarcer(
  one: LimitMeter | undefined,
  other: LimitMeter | undefined,
): LimitMeter | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.remaining < one.remaining ? other : one;
}
