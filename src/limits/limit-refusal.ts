import type { KeyLimits } from "../core/caller.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { type Refusal, tokensNeeded } from "./judge.ts";
import type { LimitedCall } from "./limits.ts";
import { type KeyUse, reportOf, statusOf } from "./report.ts";

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
