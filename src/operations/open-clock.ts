import type { Settings } from "../config/settings.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import type { Log } from "../lib/log.ts";
import { type Clock, openTestClock, systemClock } from "../lib/time/clock.ts";

export interface OpenClock extends Clock {
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly close: () => Promise<void>;
}

/** Opens the clock for all decisions: the system's, unless a test moves it. Throws a `StartRefusal`. */
export function openClock(
  settings: Pick<Settings, "ALLOW_TEST_CLOCK" | "TEST_CLOCK_FILE">,
  log: Log,
): OpenClock {
  const { ALLOW_TEST_CLOCK: isAllowed, TEST_CLOCK_FILE: file } = settings;
  if (file === undefined)
    return { ...systemClock, monotonic: () => performance.now(), close: () => Promise.resolve() };
  if (!isAllowed) {
    throw new StartRefusal(
      "TEST_CLOCK_FILE moves the clock, which is allowed only with ALLOW_TEST_CLOCK=1: " +
        "unset TEST_CLOCK_FILE, or set ALLOW_TEST_CLOCK=1 on a machine for tests.",
    );
  }
  log.warn({ file }, "the clock is set by TEST_CLOCK_FILE; this is for tests only");
  const { now, monotonic, close } = openTestClock(file);
  return { now, monotonic, close: async () => close() };
}
