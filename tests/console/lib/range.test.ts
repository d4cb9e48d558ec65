import { describe, expect, it } from "vitest";
import { formatBar, moveRange, rangeOfDays, readRange } from "../../../src/console/lib/range.ts";

const NOW = Date.parse("2026-11-24T14:20:05.123Z");
const state = (range: string, until = "") => ({ range, until });

describe("a range of usage", () => {
  it("ends with the hour that is not over, and begins with a day", () => {
    expect(readRange(state("7"), NOW)).toEqual({
      ...{ days: 7, firstDay: "2026-11-18", lastDay: "2026-11-24", unit: "day", isLive: true },
      ...{ from: "2026-11-18T00:00:00.000Z", to: "2026-11-24T15:00:00.000Z" },
      before: { from: "2026-11-11T00:00:00.000Z", to: "2026-11-17T15:00:00.000Z" },
    });
  });

  it("of one day is the last 24 hours, or that day", () => {
    expect(readRange(state("1"), NOW)).toMatchObject({
      ...{ from: "2026-11-23T15:00:00.000Z", to: "2026-11-24T15:00:00.000Z", unit: "hour" },
    });
    expect(readRange(state("1", "2026-11-20"), NOW)).toMatchObject({
      ...{ from: "2026-11-20T00:00:00.000Z", to: "2026-11-21T00:00:00.000Z", isLive: false },
    });
  });

  it("has months for bars where days would be too many", () => {
    expect(readRange(state("92"), NOW).unit).toBe("day");
    expect(readRange(state("93"), NOW).unit).toBe("month");
  });

  it.each([
    ["", "", 30],
    ["-3", "", 30],
    ["x", "tomorrow", 30],
    ["999", "", 400],
    ["7", "2027-01-01", 7],
    ["7", "2026-13-40", 7],
  ])("is read from any text: '%s' until '%s'", (range, until, days) => {
    expect(readRange(state(range, until), NOW)).toMatchObject({ days, lastDay: "2026-11-24" });
  });

  it("moves by its own length, and not beyond today", () => {
    const before = moveRange(readRange(state("7"), NOW), -1, NOW);
    expect(before).toEqual(state("7", "2026-11-17"));
    expect(moveRange(readRange(before, NOW), 1, NOW)).toEqual(state("7"));
    expect(moveRange(readRange(state("30", "2026-11-20"), NOW), 1, NOW)).toEqual(state("30"));
  });

  it("is made of a first and a last day", () => {
    expect(rangeOfDays("2026-11-01", "2026-11-03", NOW)).toEqual(state("3", "2026-11-03"));
    expect(rangeOfDays("2026-11-24", "2026-11-24", NOW)).toEqual(state("1"));
    expect(rangeOfDays("2026-11-03", "2026-11-01", NOW)).toBeUndefined();
    expect(rangeOfDays("2020-01-01", "2026-11-01", NOW)).toBeUndefined();
    expect(rangeOfDays("", "2026-11-01", NOW)).toBeUndefined();
  });

  it("names its bars in UTC", () => {
    expect(formatBar("2026-11-24T23:00:00.000Z", "hour")).toBe("24 Nov, 23:00");
    expect(formatBar("2026-11-24", "day")).toBe("24 Nov");
    expect(formatBar("2026-11", "month")).toBe("Nov 2026");
  });
});
