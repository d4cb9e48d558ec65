import type { KeyLimits } from "../core/callers/caller.ts";
import type { LimitedCall } from "./limits.ts";
import type { CallUse, KeyUse } from "./report.ts";

/** A limit that refuses a call, and the duration of the refusal. */
export interface Refusal {
  /** Whether it is the limit of the key's owner. */
  readonly isOwners?: boolean;
  readonly limit: keyof KeyLimits;
  readonly holds:
    | "for-good"
    /** Until the tokens that other calls hold are released, which may happen at any moment. */
    | "while-reserved"
    | { readonly forMs: number };
}

/**
 * Returns the limit that refuses a call; undefined when every limit admits it. Of several the one that holds longest is
 * returned: a client that waits for a shorter one would be refused again.
 */
export function findRefusal(call: LimitedCall, { own, owner }: CallUse): Refusal | undefined {
  const refusal = findRefusalBy(call, own);
  if (owner === undefined || call.ownerLimits === undefined) return refusal;
  const ownersRefusal = findRefusalBy({ ...call, limits: call.ownerLimits }, owner);
  if (ownersRefusal === undefined) return refusal;
  if (refusal !== undefined && durationMs(refusal) >= durationMs(ownersRefusal)) return refusal;
  return { ...ownersRefusal, isOwners: true };
}

function findRefusalBy(call: LimitedCall, use: KeyUse): Refusal | undefined {
  let longest: Refusal | undefined;
  for (const judge of JUDGES) {
    const refusal = judge(call, use);
    if (refusal === undefined) continue;
    if (longest === undefined || durationMs(refusal) > durationMs(longest)) longest = refusal;
  }
  return longest;
}

/** The order matters: of refusals that hold equally long the first is returned. */
const JUDGES = [byRequests, byTokens, byMonth, byWindow];

function byRequests({ limits }: LimitedCall, use: KeyUse): Refusal | undefined {
  if (limits.requests === null || use.requests < limits.requests) return undefined;
  return { limit: "requests", holds: "for-good" };
}

function byTokens(call: LimitedCall, use: KeyUse): Refusal | undefined {
  const limit = call.limits.tokens;
  const withCall = use.tokens + tokensNeeded(call);
  if (limit === null || withCall + use.reservedTokens <= limit) return undefined;
  return { limit: "tokens", holds: withCall > limit ? "for-good" : "while-reserved" };
}

function byMonth(call: LimitedCall, use: KeyUse): Refusal | undefined {
  const limit = call.limits.monthlyTokens;
  const needed = tokensNeeded(call);
  const withCall = use.monthTokens + needed;
  if (limit === null || withCall + use.monthReservedTokens <= limit) return undefined;
  // A call that exceeds a whole month's limit will not fit into the next month either.
  if (needed > limit) return { limit: "monthlyTokens", holds: "for-good" };
  if (withCall <= limit) return { limit: "monthlyTokens", holds: "while-reserved" };
  return { limit: "monthlyTokens", holds: { forMs: use.monthEndsAt - use.now } };
}

function byWindow({ limits }: LimitedCall, use: KeyUse): Refusal | undefined {
  const limit = limits.requestsPerMinute;
  if (limit === null || use.windowCalls < limit) return undefined;
  if (limit === 0) return { limit: "requestsPerMinute", holds: "for-good" };
  return { limit: "requestsPerMinute", holds: { forMs: use.windowOpensInMs } };
}

function durationMs({ holds }: Refusal): number {
  if (holds === "for-good") return Infinity;
  return holds === "while-reserved" ? 0 : holds.forMs;
}

/** A request for further tokens by a call in progress. */
export interface Extension {
  /** Tokens that the call holds already. */
  readonly held: number;
  /** Further tokens without which the call cannot go on. */
  readonly least: number;
}

/**
 * Returns the call and the usage by which a call in progress is judged when it asks for further tokens. What it holds
 * counts as used, because it is not released before the call's end. Limits on calls do not apply again.
 */
export function extendedCall(
  call: LimitedCall,
  { own, owner }: CallUse,
  { held, least }: Extension,
): { readonly call: LimitedCall; readonly use: CallUse } {
  return {
    call: {
      ...call,
      limits: tokenLimits(call.limits),
      ownerLimits: call.ownerLimits && tokenLimits(call.ownerLimits),
      inputTokens: least,
      outputTokens: 0,
      asksAgain: false,
    },
    use: { own: useWithHeld(own, held), owner: owner && useWithHeld(owner, held) },
  };
}

function tokenLimits(limits: KeyLimits): KeyLimits {
  return { ...limits, requests: null, requestsPerMinute: null };
}

function useWithHeld(use: KeyUse, held: number): KeyUse {
  return {
    ...use,
    tokens: use.tokens + held,
    reservedTokens: use.reservedTokens - held,
    monthTokens: use.monthTokens + held,
    monthReservedTokens: use.monthReservedTokens - held,
  };
}

/**
 * Returns the minimum of tokens with which a call is useful: its prompt and, where it asks for an answer, one token of
 * it. At least 1: a key whose tokens are used up, or whose limit is 0, makes no calls of any kind.
 */
export function tokensNeeded({ inputTokens, outputTokens }: LimitedCall): number {
  return Math.max(1, inputTokens + (outputTokens > 0 ? 1 : 0));
}

/**
 * Returns the output tokens that an admitted call may spend: the requested number, or what remains after its prompt.
 * Undefined when neither the key nor its owner has a limit on tokens.
 */
export function grantOutput(call: LimitedCall, use: CallUse): number | undefined {
  if (!hasTokenLimit(call)) return undefined;
  return Math.min(call.outputTokens, tokensLeft(call, use) - call.inputTokens);
}

/** Whether a limit on tokens applies to a call. */
export function hasTokenLimit({
  limits,
  ownerLimits,
}: Pick<LimitedCall, "limits" | "ownerLimits">): boolean {
  if (limits.tokens !== null || limits.monthlyTokens !== null) return true;
  return (ownerLimits?.monthlyTokens ?? null) !== null;
}

/** Returns the tokens that no call has used or holds; infinite without a limit on tokens. */
export function tokensLeft(
  { limits, ownerLimits }: Pick<LimitedCall, "limits" | "ownerLimits">,
  { own, owner }: CallUse,
): number {
  const left = tokensLeftBy(limits, own);
  if (owner === undefined || ownerLimits === undefined) return left;
  return Math.min(left, tokensLeftBy(ownerLimits, owner));
}

function tokensLeftBy({ tokens, monthlyTokens }: KeyLimits, use: KeyUse): number {
  return Math.min(
    tokens === null ? Infinity : tokens - use.tokens - use.reservedTokens,
    monthlyTokens === null ? Infinity : monthlyTokens - use.monthTokens - use.monthReservedTokens,
  );
}
