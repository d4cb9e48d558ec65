import type { Settings } from "../config/settings.ts";
import { systemClock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { StartRefusal } from "../lib/start-refusal.ts";
import { openTestClock, type TestClock } from "../lib/test-clock.ts";

/** The clock that everything decides by: the system's, unless a test moves it. Throws a `StartRefusal`. */
export function openClock(
  settings: Pick<Settings, "ALLOW_TEST_CLOCK" | "TEST_CLOCK_FILE">,
  log: Log,
): TestClock {
  const { ALLOW_TEST_CLOCK: isAllowed, TEST_CLOCK_FILE: file } = settings;
  if (file === undefined)
    return { ...systemClock, monotonic: () => performance.now(), close: () => undefined };
  if (!isAllowed) {
    throw new StartRefusal(
      "TEST_CLOCK_FILE moves the clock and holds with ALLOW_TEST_CLOCK=1 alone: " +
        "unset TEST_CLOCK_FILE, or set ALLOW_TEST_CLOCK=1 on a machine for tests.",
    );
  }
  log.warn({ file }, "the clock is moved by TEST_CLOCK_FILE: nothing here is to be relied upon");
  return openTestClock(file);
}
