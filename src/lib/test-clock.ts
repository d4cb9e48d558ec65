import { readFileSync } from "node:fs";
import { type Clock, systemClock } from "./clock.ts";

export interface TestClock extends Clock {
  readonly close: () => void;
}

/** A change of the file holds within twice this time. */
const READ_INTERVAL_MS = 25;
/** A hundred years: every time that is still storable and printable. */
const LONGEST_OFFSET_SECONDS = 3_200_000_000;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

/**
 * The system's time plus the seconds that the file holds, fractions allowed, for tests alone. The file is read again
 * and again: while it is missing nothing is added, while its text is no number the last one that was stays in force.
 */
export function openTestClock(file: string): TestClock {
  let offsetMs = readOffsetMs(file, 0);
  const timer = setInterval(() => {
    offsetMs = readOffsetMs(file, offsetMs);
  }, READ_INTERVAL_MS).unref();
  return {
    now: () => systemClock.now() + offsetMs,
    close: () => clearInterval(timer),
  };
}

function readOffsetMs(file: string, lastMs: number): number {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ENOENT" ? 0 : lastMs;
  }
  // A file is empty for a moment while it is written anew, and an empty text would count as 0.
  const seconds = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Math.abs(seconds) <= LONGEST_OFFSET_SECONDS ? Math.round(seconds * 1000) : lastMs;
}
