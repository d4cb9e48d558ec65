import type { KeyLimits } from "../core/callers/caller.ts";
import type { LimitMeter, LimitStatus } from "../core/limit-status.ts";
import { type LimitedCall, type LimitReport, type LimitUse, WINDOW_MS } from "./limits.ts";

/**
 * A key's usage at one moment, independent of where it is counted. A call in progress counts in `requests` and in the
 * window.
 */
export interface KeyUse {
  /** The moment, in Unix milliseconds. */
  readonly now: number;
  /** Calls admitted in the 60 seconds before it. */
  readonly windowCalls: number;
  /** Milliseconds until one more call is admitted under the key's limit; 0 now. */
  readonly windowOpensInMs: number;
  /** Milliseconds until the window is empty without further calls; 0 now. */
  readonly windowEmptiesInMs: number;
  /** Calls admitted over the key's life. */
  readonly requests: number;
  /** Settled over the key's life. */
  readonly tokens: number;
  /** Held by calls in progress. */
  readonly reservedTokens: number;
  /** The end of the month that the next two figures describe, in Unix milliseconds. */
  readonly monthEndsAt: number;
  /** Settled in that month. */
  readonly monthTokens: number;
  /** Held by calls of that month. */
  readonly monthReservedTokens: number;
}

/** The usage by which a call is judged. */
export interface CallUse {
  /** Of the key, or of the user of a session. */
  readonly own: KeyUse;
  /** Of the key's owner; undefined when the owner has no limits. */
  readonly owner?: KeyUse | undefined;
}

/** Builds the report of a key, with one entry for each of its limits. */
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

/** Returns the limits of a key with the least left, which is what a client can act upon. */
function statusOf(report: LimitReport): LimitStatus {
  return {
    requests: scarcer(report.requests, report.requestsPerMinute),
    tokens: scarcer(report.tokens, report.monthlyTokens),
  };
}

/** Returns the limits of a call with the least left, those of its key and of the key's owner. */
export function statusOfCall(
  { limits, ownerLimits }: Pick<LimitedCall, "limits" | "ownerLimits">,
  { own, owner }: CallUse,
): LimitStatus {
  const status = statusOf(reportOf(limits, own));
  if (owner === undefined || ownerLimits === undefined) return status;
  const owners = statusOf(reportOf(ownerLimits, owner));
  return {
    requests: scarcer(status.requests, owners.requests),
    tokens: scarcer(status.tokens, owners.tokens),
  };
}

/** Returns the scarcer limit; of equals the first, which is the limit over the key's life. */
function scarcer(
  one: LimitMeter | undefined,
  other: LimitMeter | undefined,
): LimitMeter | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.remaining < one.remaining ? other : one;
}

/**
 * Returns the key's usage after one more admitted call that holds this many tokens. The time at which the window opens
 * is left unchanged.
 */
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
