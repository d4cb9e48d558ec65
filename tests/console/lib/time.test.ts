import { describe, expect, it } from "vitest";
import {
  formatDay,
  formatRelative,
  formatTime,
  formatUtc,
  fromLocalInput,
  toLocalInput,
} from "../../../src/console/lib/time.ts";

const NOW = Date.UTC(2026, 10, 22, 19, 4, 11);
const ago = (seconds: number) => NOW - seconds * 1_000;

describe("times", () => {
  it("are day, month, year and minutes", () => {
    expect(formatTime(NOW, "utc")).toBe("22 Nov 2026, 19:04");
    expect(formatTime(NOW, "utc", true)).toBe("22 Nov 2026, 19:04:11");
    expect(formatTime("2026-11-22T00:00:00Z", "utc")).toBe("22 Nov 2026, 00:00");
    expect(formatDay(NOW, "utc")).toBe("22 Nov 2026");
    expect(formatUtc(NOW)).toBe("2026-11-22 19:04:11 UTC");
  });

  it.each([
    [ago(0), "now"],
    [ago(4), "now"],
    [ago(59), "59 s ago"],
    [ago(60), "1 min ago"],
    [ago(3_599), "59 min ago"],
    [ago(3_600), "1 h ago"],
    [ago(86_400 * 2 + 5), "2 d ago"],
    [ago(-86_400 * 12), "in 12 d"],
    [ago(-86_400 * 29 - 5), "in 30 d"],
    [ago(86_400 * 29 + 5), "29 d ago"],
    [ago(-3_600 * 23), "in 23 h"],
    [ago(86_400 * 31), "22 Oct 2026"],
    [ago(-86_400 * 31), "23 Dec 2026"],
  ])("%s is %s from now", (time, text) => {
    expect(formatRelative(time, NOW, "utc")).toBe(text);
  });

  it("go to an input and back in both zones", () => {
    expect(toLocalInput(NOW, "utc")).toBe("2026-11-22T19:04");
    expect(fromLocalInput("2026-11-22T19:04", "utc")).toBe("2026-11-22T19:04:00.000Z");
    const local = toLocalInput(NOW, "local");
    expect(fromLocalInput(local, "local")).toBe("2026-11-22T19:04:00.000Z");
  });

  it("are null where an input is empty or wrong", () => {
    expect(fromLocalInput("", "utc")).toBeNull();
    expect(fromLocalInput("2026-13-40T00:00", "local")).toBeNull();
  });
});
