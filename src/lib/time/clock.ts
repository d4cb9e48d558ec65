import { readFileSync } from "node:fs";

/** Time is injected, so that tests can set it. Always UTC. */
export interface Clock {
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const systemClock: Clock = { now: () => Date.now() };

export interface TestClock extends Clock {
  /** Milliseconds of a monotonic clock. A step of `now` does not move it. */
  readonly monotonic: () => number;
  readonly close: () => void;
}

/** A change of the file takes effect within twice this time. */
const READ_INTERVAL_MS = 25;
/** A hundred years: every resulting time can still be stored and printed. */
const LONGEST_OFFSET_SECONDS = 3_200_000_000;
const OFFSET = /^([+-]?\d+(?:\.\d+)?)( elapsed)?$/;

interface Offset {
  readonly ms: number;
  /** True when the time passed instead of being set, so that the monotonic clock advanced too. */
  readonly isElapsed: boolean;
}

/**
 * A test clock: the system's time plus the seconds in the file, fractions allowed. `60` is a clock that was set
 * forward; `60 elapsed` is a minute that passed. The file is polled. A missing file adds nothing; with invalid content
 * the last valid offset stays in force.
 */
export function openTestClock(file: string): TestClock {
  let offset = readOffset(file, { ms: 0, isElapsed: false });
  let elapsedMs = offset.isElapsed ? Math.max(0, offset.ms) : 0;
  const timer = setInterval(() => {
    offset = readOffset(file, offset);
    if (offset.isElapsed) elapsedMs = Math.max(elapsedMs, offset.ms);
  }, READ_INTERVAL_MS).unref();
  return {
    now: () => systemClock.now() + offset.ms,
    monotonic: () => performance.now() + elapsedMs,
    close: () => clearInterval(timer),
  };
}

function readOffset(file: string, last: Offset): Offset {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === "ENOENT";
    return isMissing ? { ms: 0, isElapsed: false } : last;
  }
  // A file is briefly empty while it is written, and an empty text would count as 0.
  const [, seconds = "", elapsed] = OFFSET.exec(text) ?? [];
  if (seconds === "" || Math.abs(Number(seconds)) > LONGEST_OFFSET_SECONDS) return last;
  return { ms: Math.round(Number(seconds) * 1000), isElapsed: elapsed !== undefined };
}
