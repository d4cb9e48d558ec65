import { describe, expect, it } from "vitest";
import {
  countOf,
  formatBytes,
  formatCount,
  formatDuration,
  formatExact,
  formatPercent,
  wholePercent,
  wordFor,
} from "../../../src/console/lib/count.ts";

describe("counts", () => {
  it.each([
    [0, "0"],
    [9_999, "9,999"],
    [10_000, "10 k"],
    [12_480, "12.5 k"],
    [999_499, "999 k"],
    [999_999, "1 M"],
    [3_500_000, "3.5 M"],
    [-3_500_000, "-3.5 M"],
    [7.25e12, "7.25 T"],
  ])("%s is %s", (value, text) => expect(formatCount(value)).toBe(text));

  it("are exact where asked", () => expect(formatExact(3_500_001)).toBe("3,500,001"));
});

describe("counted things", () => {
  it.each([
    [0, "0 rows"],
    [1, "1 row"],
    [2, "2 rows"],
    [12_480, "12,480 rows"],
  ])("are, of %s, %s", (count, text) => expect(countOf(count, "row")).toBe(text));

  it("have a word of their own where an s does not make it", () => {
    expect(countOf(2, "entry", "entries")).toBe("2 entries");
    expect(wordFor(1, "entry", "entries")).toBe("entry");
  });
});

describe("bytes", () => {
  it.each([
    [0, "0 B"],
    [1_000, "1,000 B"],
    [1_024, "1 KiB"],
    [4 * 2 ** 20, "4 MiB"],
    [2 ** 30 - 1, "1 GiB"],
  ])("%s are %s", (value, text) => expect(formatBytes(value)).toBe(text));
});

describe("durations", () => {
  it.each([
    [0, "0 ms"],
    [312.4, "312 ms"],
    [999.7, "1 s"],
    [6_240, "6.2 s"],
    [59_949, "59.9 s"],
    [59_960, "1 min"],
    [60_000, "1 min"],
    [245_000, "4 min 5 s"],
    [7_800_000, "2 h 10 min"],
    [273_600_000, "3 d 4 h"],
  ])("%s ms is %s", (value, text) => expect(formatDuration(value)).toBe(text));
});

describe("shares", () => {
  it.each([
    [0, "0 %"],
    [0.001, "< 1 %"],
    [0.29, "29 %"],
    [0.57, "57 %"],
    [0.58, "58 %"],
    [0.719, "71 %"],
    [0.999, "99 %"],
    [1, "100 %"],
  ])("%s is %s", (value, text) => expect(formatPercent(value)).toBe(text));

  it("have every whole percent as it is", () => {
    for (let percent = 0; percent <= 100; percent += 1) {
      expect(wholePercent(percent / 100)).toBe(percent);
    }
  });
});
