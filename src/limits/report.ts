import type { KeyLimits } from "../core/caller.ts";
import type { LimitMeter, LimitStatus } from "../core/limit-status.ts";
import { type LimitReport, type LimitUse, WINDOW_MS } from "./limits.ts";

/** Where a key stands at one moment, whoever counts. A call under way counts in `requests` and in the window. */
export interface KeyUse {
  /** The moment, in Unix milliseconds. */
  readonly now: number;
  /** Calls admitted in the 60 seconds before it. */
  readonly windowCalls: number;
  /** Until one more call is admitted under the key's limit, in milliseconds; 0 now. */
  readonly windowOpensInMs: number;
  /** Until the window is empty when nothing more is called, in milliseconds; 0 now. */
  readonly windowEmptiesInMs: number;
  /** Calls admitted over the key's life. */
  readonly requests: number;
  /** Settled over the key's life. */
  readonly tokens: number;
  /** Held by calls under way. */
  readonly reservedTokens: number;
  /** When the month ends that is spoken of, in Unix milliseconds. */
  readonly monthEndsAt: number;
  /** Settled in that month. */
  readonly monthTokens: number;
  /** Held by calls of that month. */
  readonly monthReservedTokens: number;
}

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

/** Where a key stands once one more call is admitted that holds so many tokens. The window's opening is not told. */
export function useWithCall(use: KeyUse, tokens: number): KeyUse {
  return {
    ...use,
    windowCalls: use.windowCalls + 1,
    windowEmptiesInMs: WINDOW_MS,
    requests: use.requests + 1,
    reservedTokens: use.reservedTokens + tokens,
    monthReservedTokens: use.monthReservedTokens + tokens,
  };
}
