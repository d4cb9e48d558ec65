import { afterEach, describe, expect, it } from "vitest";
import { clockAhead, noteServerTime, now, onClock } from "../../../src/console/lib/clock.ts";

const HOUR_MS = 3_600_000;
const AT = Date.UTC(2026, 10, 24, 12);
const says = (difference: number) => new Date(AT - difference).toUTCString();

describe("the gateway's clock", () => {
  afterEach(() => noteServerTime(new Date().toUTCString()));

  it("counts where the device's is wrong, and is told once", () => {
    let told = 0;
    const end = onClock(() => {
      told += 1;
    });
    noteServerTime(says(3 * HOUR_MS), AT);
    noteServerTime(says(3 * HOUR_MS + 1_000), AT + 500);
    expect([clockAhead(), told]).toEqual([3 * HOUR_MS, 1]);
    expect(Math.abs(now() - (Date.now() - 3 * HOUR_MS))).toBeLessThan(10_000);
    noteServerTime(says(0), AT);
    expect([clockAhead(), told]).toEqual([0, 2]);
    end();
  });

  it("is not corrected by the time that answers take, nor by an answer without a time", () => {
    for (const date of [says(90_000), says(-90_000), null, "yesterday"]) noteServerTime(date, AT);
    expect(clockAhead()).toBe(0);
  });
});
