import { describe, expect, it } from "vitest";
import { chooseLicense } from "../../src/license/current-license.ts";
import type { LicenseTerms } from "../../src/license/license-file.ts";
import type { HeldLicense } from "../../src/license/license-sources.ts";

const NOW = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;

function held(
  source: HeldLicense["source"],
  issuedDaysAgo: number,
  endsInDays: number | null,
): HeldLicense {
  const terms: LicenseTerms = {
    id: source,
    customer: "A customer",
    kind: endsInDays === null ? "perpetual" : "subscription",
    maxUsers: 1,
    maxGpus: null,
    issuedAt: NOW - issuedDaysAgo * DAY,
    expiresAt: endsInDays === null ? null : NOW + endsInDays * DAY,
    deviceId: null,
  };
  return { source, terms };
}

describe("of an uploaded and a placed license", () => {
  it.each([
    ["the one issued later is in force", [10, 30], [5, 20], "placed"],
    [
      "the one issued later is in force, also against one without end",
      [10, null],
      [5, 20],
      "placed",
    ],
    ["one that has expired gives way", [10, 30], [5, 0], "uploaded"],
    ["both expired, the one that did so later counts", [5, -3], [10, -1], "placed"],
    ["of equals it is the uploaded one", [5, 20], [5, 20], "uploaded"],
    ["of equals that have expired it is the uploaded one", [9, -1], [5, -1], "uploaded"],
  ] as const)("%s", (_, uploaded, placed, source) => {
    const both = [held("placed", placed[0], placed[1]), held("uploaded", uploaded[0], uploaded[1])];
    expect(chooseLicense(both, NOW)?.source).toBe(source);
    expect(chooseLicense(both.toReversed(), NOW)?.source).toBe(source);
  });

  it("there may be one alone, or none", () => {
    expect(chooseLicense([held("placed", 1, -100)], NOW)?.source).toBe("placed");
    expect(chooseLicense([], NOW)).toBeUndefined();
  });
});
