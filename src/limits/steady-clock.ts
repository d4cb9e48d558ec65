import type { Clock } from "../lib/clock.ts";

/**
 * A clock in whole milliseconds that begins at the system's time and goes on by the monotonic clock: when the system's
 * clock is set, forward or back, this one does not move. What it returns is comparable with its own times only.
 */
export function createSteadyClock(clock: Clock, monotonic: () => number): Clock {
  const offsetMs = clock.now() - monotonic();
  return { now: () => Math.floor(offsetMs + monotonic()) };
}
