import type { LimitMeter } from "../../core/limit-status.ts";
import type { SayLimits } from "./say-limits.ts";

/** In the words of the messages family: when there will be more is a time in RFC 3339. */
export const messagesLimitHeaders: SayLimits = ({ requests, tokens }) => ({
  ...headersOf("requests", requests),
  ...headersOf("tokens", tokens),
});

function headersOf(
  what: "requests" | "tokens",
  meter: LimitMeter | undefined,
): Record<string, string> {
  if (meter === undefined) return {};
  const prefix = `anthropic-ratelimit-${what}`;
  return {
    [`${prefix}-limit`]: String(meter.limit),
    [`${prefix}-remaining`]: String(meter.remaining),
    // What is never there again has no time.
    ...(meter.resetsAt !== null && { [`${prefix}-reset`]: timeText(meter.resetsAt) }),
  };
}

/** In whole seconds, rather too late than too early, as the vendor writes it. */
function timeText(at: number): string {
  const wholeSeconds = Math.ceil(at / 1000) * 1000;
  return new Date(wholeSeconds).toISOString().replace(".000Z", "Z");
}
