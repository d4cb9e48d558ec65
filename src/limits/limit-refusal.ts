import type { KeyLimits } from "../core/callers/caller.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { type Refusal, tokensNeeded } from "./judge.ts";
import type { LimitedCall } from "./limits.ts";
import { type CallUse, type KeyUse, statusOfCall } from "./report.ts";

/** `Retry-After` where no wait helps: a client then checks once a day whether the limit was raised. */
const FOR_GOOD_RETRY_SECONDS = 86_400;
/**
 * Maximum where it is unknown how long others hold their tokens; randomized, so that clients refused together do not
 * return together.
 */
const RESERVED_RETRY_SECONDS_MAX = 5;

const CODES: Record<keyof KeyLimits, ErrorCode> = {
  requestsPerMinute: "rate_limit_exceeded",
  requests: "request_limit_exceeded",
  tokens: "token_limit_exceeded",
  monthlyTokens: "monthly_limit_exceeded",
};

/**
 * Builds the 429 of a call that a limit refuses: it names the limit and the remedy, the true wait in whole seconds, and
 * the key's status. Client libraries sleep as long as the header asks. Where that would take days, or be useless, the
 * header asks them not to retry.
 */
export function limitRefusal(refusal: Refusal, call: LimitedCall, use: CallUse): ServiceError {
  const { limit, holds } = refusal;
  const isShort = holds === "while-reserved" || (holds !== "for-good" && limit !== "monthlyTokens");
  return new ServiceError(CODES[limit], messageOf(refusal, refuserOf(refusal, call, use), call), {
    retryAfterSeconds: retrySeconds(refusal, call),
    shouldRetry: isShort ? undefined : false,
    limits: statusOfCall(call, use),
  });
}

/** Whose limit refuses a call. */
interface Refuser {
  /** At the beginning of a sentence. */
  readonly start: string;
  /** Within a sentence. */
  readonly name: string;
  readonly remedy: string;
  readonly limits: KeyLimits;
  readonly use: KeyUse;
}

function refuserOf({ isOwners }: Refusal, call: LimitedCall, { own, owner }: CallUse): Refuser {
  const { limits, ownerLimits, isSession } = call;
  if (isOwners === true && ownerLimits !== undefined && owner !== undefined) {
    return { ...USER, limits: ownerLimits, use: owner };
  }
  return { ...(isSession === true ? USER : KEY), limits, use: own };
}

const KEY = {
  start: "This API key",
  name: "this API key",
  remedy: "Use another key, or ask an administrator to raise the limit.",
};
const USER = {
  start: "Your user account",
  name: "your user account",
  remedy:
    "The limit holds for all keys and sessions of the user together. Ask an administrator to raise it.",
};

function retrySeconds({ holds }: Refusal, { id }: LimitedCall): number {
  if (holds === "for-good") return FOR_GOOD_RETRY_SECONDS;
  if (holds === "while-reserved")
    return 1 + (id.charCodeAt(id.length - 1) % RESERVED_RETRY_SECONDS_MAX);
  return Math.max(1, Math.ceil(holds.forMs / 1_000));
}

function messageOf(refusal: Refusal, refuser: Refuser, call: LimitedCall): string {
  const { start, remedy, limits, use } = refuser;
  const limit = limits[refusal.limit];
  if (limit === 0) {
    return `${start}'s limit of ${NAMES[refusal.limit]} is 0: it may make no calls. ${remedy}`;
  }
  switch (refusal.limit) {
    case "requestsPerMinute":
      return `${start}'s limit of ${limit} requests in any 60 seconds is reached. Wait ${retrySeconds(refusal, call)} seconds.`;
    case "requests":
      return `${start} has used up its limit of ${limit} requests. ${remedy}`;
    case "tokens": {
      if (refusal.holds === "while-reserved") return reservedText(refuser, `${limit} tokens`);
      return `${tokensText(refuser, call, { limit, used: use.tokens })} over its life. ${remedy}`;
    }
    case "monthlyTokens": {
      if (refusal.holds === "while-reserved") {
        return reservedText(refuser, `${limit} tokens a month`);
      }
      const text = `${tokensText(refuser, call, { limit, used: use.monthTokens })} a month.`;
      if (refusal.holds === "for-good") return `${text} ${remedy}`;
      return `${text} The next month begins at ${new Date(use.monthEndsAt).toISOString()}. ${remedy}`;
    }
  }
}

const NAMES: Record<keyof KeyLimits, string> = {
  requestsPerMinute: "requests a minute",
  requests: "requests",
  tokens: "tokens",
  monthlyTokens: "tokens a month",
};

function tokensText(
  { start, name }: Refuser,
  call: LimitedCall,
  { limit, used }: { readonly limit: number | null; readonly used: number },
): string {
  const left = Math.max(0, (limit ?? 0) - used);
  if (left === 0) return `${start} has used up its limit of ${limit} tokens`;
  return `This call may need ${tokensNeeded(call)} tokens, and ${name} has ${left} left of its limit of ${limit} tokens`;
}

function reservedText({ name }: Refuser, limit: string): string {
  return `Calls under way hold what is left of ${name}'s limit of ${limit}. Try again when they have ended.`;
}
