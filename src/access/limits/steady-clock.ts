import type { Clock } from "../../lib/clock.ts";

/**
 * The clock in whole milliseconds, never running backwards: when it is set back, this one goes on from where it was.
 * What it tells is for comparing with itself alone.
 */
export function createSteadyClock(clock: Clock): Clock {
  let last = -Infinity;
  let aheadMs = 0;
  return {
    now() {
      const now = Math.floor(clock.now());
      if (now + aheadMs < last) aheadMs = last - now;
      last = now + aheadMs;
      return last;
    },
  };
}
