import type { KeyLimits } from "../core/caller.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { type Refusal, tokensNeeded } from "./judge.ts";
import type { LimitedCall } from "./limits.ts";
import { type KeyUse, reportOf, statusOf } from "./report.ts";

/** What a client is told to wait where no wait helps: it then asks once a day whether the limit was raised. */
const FOR_GOOD_RETRY_SECONDS = 86_400;
/** Where nobody knows how long others hold their tokens: spread, so that those refused together return one by one. */
const RESERVED_RETRY_SECONDS_MAX = 5;

const CODES: Record<keyof KeyLimits, ErrorCode> = {
  requestsPerMinute: "rate_limit_exceeded",
  requests: "request_limit_exceeded",
  tokens: "token_limit_exceeded",
  monthlyTokens: "monthly_limit_exceeded",
};

/**
 * The 429 of a call that a limit refuses: it names the limit and what to do, says the true wait in whole seconds,
 * and tells where the key stands. Client libraries sleep as long as they are told, so where that would be for days
 * or for nothing they are told not to try again.
 */
export function limitRefusal(refusal: Refusal, call: LimitedCall, use: KeyUse): ServiceError {
  const { limit, holds } = refusal;
  const isShort = holds === "while-reserved" || (holds !== "for-good" && limit !== "monthlyTokens");
  return new ServiceError(CODES[limit], messageOf(refusal, call, use), {
    retryAfterSeconds: retrySeconds(refusal, call),
    shouldRetry: isShort ? undefined : false,
    limits: statusOf(reportOf(call.limits, use)),
  });
}

function retrySeconds({ holds }: Refusal, { id }: LimitedCall): number {
  if (holds === "for-good") return FOR_GOOD_RETRY_SECONDS;
  if (holds === "while-reserved")
    return 1 + (id.charCodeAt(id.length - 1) % RESERVED_RETRY_SECONDS_MAX);
  return Math.max(1, Math.ceil(holds.forMs / 1_000));
}

function messageOf(refusal: Refusal, call: LimitedCall, use: KeyUse): string {
  const limit = call.limits[refusal.limit];
  if (limit === 0) {
    return `This API key's limit of ${NAMES[refusal.limit]} is 0: it may make no calls. ${ASK_FOR_MORE}`;
  }
  switch (refusal.limit) {
    case "requestsPerMinute":
      return `This API key's limit of ${limit} requests in any 60 seconds is reached. Wait ${retrySeconds(refusal, call)} seconds.`;
    case "requests":
      return `This API key has used up its limit of ${limit} requests. ${ASK_FOR_MORE}`;
    case "tokens": {
      if (refusal.holds === "while-reserved") return reservedText(`${limit} tokens`);
      return `${tokensText(call, limit, use.tokens)} over its life. ${ASK_FOR_MORE}`;
    }
    case "monthlyTokens": {
      if (refusal.holds === "while-reserved") return reservedText(`${limit} tokens a month`);
      const text = `${tokensText(call, limit, use.monthTokens)} a month.`;
      if (refusal.holds === "for-good") return `${text} ${ASK_FOR_MORE}`;
      return `${text} The next month begins at ${new Date(use.monthEndsAt).toISOString()}. ${ASK_FOR_MORE}`;
    }
  }
}

const NAMES: Record<keyof KeyLimits, string> = {
  requestsPerMinute: "requests a minute",
  requests: "requests",
  tokens: "tokens",
  monthlyTokens: "tokens a month",
};

const ASK_FOR_MORE = "Use another key, or ask an administrator to raise the limit.";

function tokensText(call: LimitedCall, limit: number | null, used: number): string {
  const left = Math.max(0, (limit ?? 0) - used);
  if (left === 0) return `This API key has used up its limit of ${limit} tokens`;
  return `This call may need ${tokensNeeded(call)} tokens, and this API key has ${left} left of its limit of ${limit} tokens`;
}

function reservedText(limit: string): string {
  return `Calls under way hold what is left of this API key's limit of ${limit}. Try again when they have ended.`;
}
