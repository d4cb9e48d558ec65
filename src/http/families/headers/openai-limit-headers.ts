import type { LimitMeter } from "../../../core/limit-status.ts";
import type { SayLimits } from "./say-limits.ts";

/** The headers of OpenAI's families, where a reset is a duration such as `6m0s`. */
export const openaiLimitHeaders: SayLimits = ({ requests, tokens }, now) => ({
  ...headersOf("requests", requests, now),
  ...headersOf("tokens", tokens, now),
});

function headersOf(
  what: "requests" | "tokens",
  meter: LimitMeter | undefined,
  now: number,
): Record<string, string> {
  if (meter === undefined) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(meter.limit),
    [`x-ratelimit-remaining-${what}`]: String(meter.remaining),
    // A limit that never resets has no time.
    ...(meter.resetsAt !== null && {
      [`x-ratelimit-reset-${what}`]: durationText(meter.resetsAt - now),
    }),
  };
}

/** Rounds up to whole seconds, so that a client never returns too early. */
function durationText(milliseconds: number): string {
  const total = Math.max(0, Math.ceil(milliseconds / 1000));
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const seconds = `${total % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
