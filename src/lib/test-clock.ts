import { readFileSync } from "node:fs";
import { type Clock, systemClock } from "./clock.ts";

export interface TestClock extends Clock {
  /** Milliseconds of a clock that nobody can set; it never runs backwards, and a step of `now` does not move it. */
  readonly monotonic: () => number;
  readonly close: () => void;
}

/** A change of the file holds within twice this time. */
const READ_INTERVAL_MS = 25;
/** A hundred years: every time that is still storable and printable. */
const LONGEST_OFFSET_SECONDS = 3_200_000_000;
const OFFSET = /^([+-]?\d+(?:\.\d+)?)( elapsed)?$/;

interface Offset {
  readonly ms: number;
  /** The time passed instead of being set: the monotonic clock went with it. */
  readonly isElapsed: boolean;
}

/**
 * The system's time plus the seconds that the file holds, fractions allowed, for tests alone: `60` is a clock that was
 * set forward, `60 elapsed` a minute that passed. The file is read again and again: while it is missing nothing is added,
 * while its text is neither the last one that was stays in force.
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
  // A file is empty for a moment while it is written, and an empty text would count as 0.
  const [, seconds = "", elapsed] = OFFSET.exec(text) ?? [];
  if (seconds === "" || Math.abs(Number(seconds)) > LONGEST_OFFSET_SECONDS) return last;
  return { ms: Math.round(Number(seconds) * 1000), isElapsed: elapsed !== undefined };
}
