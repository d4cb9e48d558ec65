import { describe, expect, test } from "vitest";
import { ReadingPace } from "../../../src/data/port/reading-pace.ts";

const LATE_MS = 20;
const MINUTE_OF_BYTES = 150_000_000;

/** Tells the pace so often how late the server is, and returns the bytes a second that it then allows. */
function rateAfter(pace: ReadingPace, lateMs: number | null, looks: number): number {
  for (let look = 0; look < looks; look += 1) pace.tell(lateMs);
  return 1_000 / pace.timeMs(1);
}

describe("the pace of readers", () => {
  test("has no limit without calls, nor while they are on time", () => {
    const pace = new ReadingPace();
    expect(pace.timeMs(1_000_000)).toBe(0);
    expect(pace.goBytes()).toBe(Number.POSITIVE_INFINITY);
    expect(rateAfter(pace, 0, 100)).toBe(Number.POSITIVE_INFINITY);
  });

  test("falls within a second of late calls, and never below 150 MB a minute", () => {
    const pace = new ReadingPace();
    expect(rateAfter(pace, LATE_MS, 4)).toBeLessThan(3_000_000);
    rateAfter(pace, LATE_MS, 100);
    expect(pace.timeMs(MINUTE_OF_BYTES)).toBe(60_000);
    expect(pace.goBytes()).toBeGreaterThan(50_000);
  });

  test("rises slowly to its full speed while calls are on time", () => {
    const pace = new ReadingPace();
    const least = rateAfter(pace, LATE_MS, 100);
    const later = rateAfter(pace, 1, 4);
    expect(later).toBeGreaterThan(least);
    expect(later).toBeLessThan(least * 2);
    expect(rateAfter(pace, 1, 30)).toBe(Number.POSITIVE_INFINITY);
  });

  test("is at full speed as soon as no calls are left", () => {
    const pace = new ReadingPace();
    rateAfter(pace, LATE_MS, 100);
    expect(rateAfter(pace, null, 1)).toBe(Number.POSITIVE_INFINITY);
  });
});
