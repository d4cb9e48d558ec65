import { describe, expect, it } from "vitest";
import { parseRetryAfter } from "../../../src/lib/http/parse-retry-after.ts";

const NOW = Date.UTC(2026, 9, 15, 12);

describe("A header Retry-After", () => {
  it.each([
    ["2", 2],
    ["1.2", 2],
    ["0", 1],
    [new Date(NOW + 90_000).toUTCString(), 90],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("in seconds or as a date: %s", (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  it("is a day at most", () => {
    const nextYear = new Date(NOW + 365 * 86_400_000).toUTCString();
    for (const header of ["86401", "99999999999", nextYear])
      expect(parseRetryAfter(header, NOW)).toBe(86_400);
  });
});
