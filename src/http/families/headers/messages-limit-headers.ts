import type { LimitMeter } from "../../../core/limit-status.ts";
import type { SayLimits } from "./say-limits.ts";

/** The headers of the messages family, where a reset is a time in RFC 3339. */
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
    // A limit that never resets has no time.
    ...(meter.resetsAt !== null && { [`${prefix}-reset`]: timeText(meter.resetsAt) }),
  };
}

/** Rounds up to whole seconds, as the vendor does, so that a client never returns too early. */
function timeText(at: number): string {
  const wholeSeconds = Math.ceil(at / 1000) * 1000;
  return new Date(wholeSeconds).toISOString().replace(".000Z", "Z");
}
