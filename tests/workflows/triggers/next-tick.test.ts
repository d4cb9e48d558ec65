import { describe, expect, it } from "vitest";
import { checkSchedule, nextTimes } from "../../../src/workflows/triggers/check-schedule.ts";
import { lastTick, nextTick, readTicks } from "../../../src/workflows/triggers/next-tick.ts";

/** The schedule, the zone, from when, and the ticks that follow, all in UTC. */
type Line = readonly [cron: string, timezone: string, after: string, ticks: readonly string[]];

const NEW_YORK = "America/New_York";
const BERLIN = "Europe/Berlin";
const LORD_HOWE = "Australia/Lord_Howe";

const CHANGES: readonly Line[] = [
  // New York, 8 March 2026: 2:00 becomes 3:00, which is 7:00 in UTC.
  ["30 2 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:30"]],
  ["*/30 2 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:00"]],
  ["0 2,3 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:00"]],
  ["30 1 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T06:30", "2026-03-09T05:30"]],
  [
    "*/30 * * * *",
    NEW_YORK,
    "2026-03-08T06:00",
    ["2026-03-08T06:30", "2026-03-08T07:00", "2026-03-08T07:30"],
  ],
  // New York, 1 November 2026: 1:00 to 2:00 comes twice, from 5:00 to 7:00 in UTC.
  ["30 2 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T07:30", "2026-11-02T07:30"]],
  ["30 1 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T05:30", "2026-11-02T06:30"]],
  ["30 1 * * *", NEW_YORK, "2026-11-01T06:10", ["2026-11-02T06:30"]],
  [
    "*/30 1 * * *",
    NEW_YORK,
    "2026-10-31T12:00",
    ["2026-11-01T05:00", "2026-11-01T05:30", "2026-11-02T06:00"],
  ],
  [
    "*/30 * * * *",
    NEW_YORK,
    "2026-11-01T04:30",
    [
      "2026-11-01T05:00",
      "2026-11-01T05:30",
      "2026-11-01T06:00",
      "2026-11-01T06:30",
      "2026-11-01T07:00",
    ],
  ],
  // Berlin, 29 March 2026: 2:00 becomes 3:00, which is 1:00 in UTC.
  ["30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]],
  ["30 1 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T00:30", "2026-03-29T23:30"]],
  [
    "*/30 * * * *",
    BERLIN,
    "2026-03-29T00:00",
    ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"],
  ],
  // Berlin, 25 October 2026: 2:00 to 3:00 comes twice, from 0:00 to 2:00 in UTC.
  ["30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]],
  ["30 1 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-24T23:30", "2026-10-26T00:30"]],
  [
    "*/30 * * * *",
    BERLIN,
    "2026-10-24T23:30",
    [
      "2026-10-25T00:00",
      "2026-10-25T00:30",
      "2026-10-25T01:00",
      "2026-10-25T01:30",
      "2026-10-25T02:00",
    ],
  ],
  // Lord Howe moves its clocks by half an hour: 2:00 becomes 2:30 on 4 October, 1:30 to 2:00 comes twice on 5 April.
  ["15 2 * * *", LORD_HOWE, "2026-10-03T00:00", ["2026-10-03T15:30", "2026-10-04T15:15"]],
  ["45 1 * * *", LORD_HOWE, "2026-04-04T00:00", ["2026-04-04T14:45", "2026-04-05T15:15"]],
  [
    "*/15 * * * *",
    LORD_HOWE,
    "2026-04-04T14:30",
    ["2026-04-04T14:45", "2026-04-04T15:00", "2026-04-04T15:15", "2026-04-04T15:30"],
  ],
  // A zone without changes, and one whose gap is at midnight.
  ["30 2 * * *", "Asia/Tokyo", "2026-03-28T00:00", ["2026-03-28T17:30", "2026-03-29T17:30"]],
  ["30 0 * * *", "America/Santiago", "2026-09-05T12:00", ["2026-09-06T04:00", "2026-09-07T03:30"]],
  ["0 12 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T12:00", "2032-02-29T12:00"]],
  ["@hourly", "UTC", "2026-01-01T00:00", ["2026-01-01T01:00", "2026-01-01T02:00"]],
  ["@daily", BERLIN, "2026-01-01T00:00", ["2026-01-01T23:00"]],
  ["@weekly", "UTC", "2026-01-01T00:00", ["2026-01-04T00:00"]],
  ["@monthly", "UTC", "2026-01-01T00:00", ["2026-02-01T00:00"]],
  ["*/30 0 6 * * *", "UTC", "2026-01-01T00:00", ["2026-01-01T06:00", "2026-01-01T06:00:30"]],
];

describe("ticks of a schedule", () => {
  it.each(CHANGES)("%s in %s after %s", (cron, timezone, after, ticks) => {
    const next = readTicks({ cron, timezone }, 0);
    const found: number[] = [];
    for (const _ of ticks) found.push(next(found.at(-1) ?? utc(after)) ?? Number.NaN);
    expect(found.map(text)).toEqual(ticks.map((tick) => text(utc(tick))));
  });

  it("an interval counts from the save, also when the clock was set to before it", () => {
    const savedAt = utc("2026-01-01T00:00:03");
    for (const schedule of [
      { every: "10s", timezone: "UTC" },
      { cron: "@every 10s", timezone: "UTC" },
    ]) {
      expect(nextTick(schedule, savedAt, savedAt)).toBe(savedAt + 10_000);
      expect(nextTick(schedule, savedAt, savedAt + 9_999)).toBe(savedAt + 10_000);
      expect(nextTick(schedule, savedAt, savedAt + 10_000)).toBe(savedAt + 20_000);
      expect(nextTick(schedule, savedAt, savedAt - 3_600_001)).toBe(savedAt - 3_600_000);
    }
    expect(nextTick({ every: "5m", timezone: "UTC" }, 0, 1)).toBe(300_000);
  });

  it("the last tick of an interval of time is found", () => {
    const next = readTicks({ every: "10s", timezone: "UTC" }, 0);
    expect(lastTick(next, 0, 3_600_000)).toBe(3_600_000);
    expect(lastTick(next, 5, 19_999)).toBe(10_000);
    expect(lastTick(next, 10_000, 19_999)).toBeUndefined();
  });
});

describe("the check of a schedule", () => {
  const now = utc("2026-11-23T12:00:00");

  it("shows the next five times", () => {
    expect(checkSchedule({ cron: "0 6 * * 1-5", timezone: BERLIN }, now)).toEqual({
      next: ["24", "25", "26", "27", "30"].map((day) => new Date(utc(`2026-11-${day}T05:00`))),
    });
    const saved = now - 3_000;
    expect(nextTimes({ every: "1h", timezone: "UTC" }, saved, now)[0]).toEqual(
      new Date(saved + 3_600_000),
    );
  });

  it.each([
    [{ cron: "0 0 31 2 *" }, "cron", "There is no such time"],
    [{ cron: "*/5 * * * * *" }, "cron", "closer than 10 s"],
    [{ cron: "* * * * * *" }, "cron", "closer than 10 s"],
    [{ cron: "0,55 * * * * *" }, "cron", "closer than 10 s"],
    [{ cron: "0,9 0 0 1 1 *" }, "cron", "closer than 10 s"],
    [{ cron: "0,5 0 0 29 2 *" }, "cron", "closer than 10 s"],
    [{ cron: "0,55 0-1 0 29 2 *" }, "cron", "closer than 10 s"],
    [{ cron: "30-32 59 23 29 2 *" }, "cron", "closer than 10 s"],
    [{ every: "9s" }, "every", "closer than 10 s"],
    [{ cron: "@every 5s" }, "cron", "closer than 10 s"],
    [{ every: "soon" }, "every", "is no interval"],
    [{ every: "9000h" }, "every", "longer than 366 days"],
    [{ cron: "0 0 * *" }, "cron", "five or six fields"],
    [{ cron: "0 0 * * * * 2027" }, "cron", "five or six fields"],
    [{ cron: "2027-01-01T00:00:00" }, "cron", "five or six fields"],
    [{ cron: "@reboot" }, "cron", "five or six fields"],
    [{ cron: "61 * * * *" }, "cron", "is no schedule"],
    [{ cron: "*/0 2 * * *" }, "cron", "is no schedule"],
    [{ cron: "x * * * *" }, "cron", "is no schedule"],
    [{}, "cron", "Give `cron` or `every`"],
    [{ cron: "0 0 * * *", timezone: "Mars/Olympus" }, "timezone", "no time zone 'Mars/Olympus'"],
    [{ cron: "0 0 * * *", timezone: "+02:00" }, "timezone", "no time zone '+02:00'"],
  ])("%j is refused at %s: %s", (schedule, field, message) => {
    const checked = checkSchedule({ timezone: "UTC", ...schedule }, now);
    expect(checked).toEqual({ field, message: expect.stringContaining(message) });
  });

  it.each(["*/10 * * * * *", "0,30 * * * * *", "0,50 * * * * *", "5 0 0 1 1 *"])(
    "%s is far enough apart",
    (cron) => {
      expect(checkSchedule({ cron, timezone: "UTC" }, now)).toHaveProperty("next");
    },
  );
});

function utc(at: string): number {
  return Date.parse(`${at}Z`);
}

function text(at: number): string {
  return new Date(at).toISOString();
}
