import { describe, expect, it } from "vitest";
import { type LicenseBasis, licenseStanding } from "../../src/license/license-state.ts";

const DAY = 86_400_000;
const SECOND = 1_000;
const EXPIRY = Date.UTC(2026, 10, 1);
const license: LicenseBasis = { kind: "license", expiresAt: EXPIRY };
const evaluation: LicenseBasis = { kind: "evaluation", installedAt: EXPIRY - 30 * DAY };
const rules = { graceDays: 14, warnDays: undefined };

const GRACE_HEADER = "License expired on 2026-11-01; everything works until 2026-11-15.";

describe("3.1 a subscription", () => {
  it.each([
    ["a year before", -365 * DAY, ["valid", 365]],
    ["a second more than a day before the expiry", -DAY - SECOND, ["valid", 2]],
    ["a day before the expiry", -DAY, ["valid", 1]],
    ["a second before the expiry", -SECOND, ["valid", 1]],
    ["a millisecond before the expiry", -1, ["valid", 1]],
    ["at the expiry", 0, ["grace", 14]],
    ["a second after the expiry", SECOND, ["grace", 14]],
    ["a second before the grace ends", 14 * DAY - SECOND, ["grace", 1]],
    ["a millisecond before the grace ends", 14 * DAY - 1, ["grace", 1]],
    ["when the grace ends", 14 * DAY, ["invalid", 0]],
    ["a second after the grace", 14 * DAY + SECOND, ["invalid", 0]],
    ["years later", 4_000 * DAY, ["invalid", 0]],
  ] as const)("%s", (_, offset, [phase, daysLeft]) => {
    const standing = licenseStanding(license, EXPIRY + offset, rules);
    expect(standing.phase).toBe(phase);
    expect(standing.state).toMatchObject({
      valid: phase !== "invalid",
      in_grace: phase === "grace",
      expires_at: "2026-11-01T00:00:00.000Z",
      days_left: daysLeft,
    });
    expect(standing.graceWarning).toBe(phase === "grace" ? GRACE_HEADER : undefined);
    expect(Object.keys(standing.state).sort()).toEqual([
      "days_left",
      "expires_at",
      "in_grace",
      "valid",
      "warning",
    ]);
  });

  it("warns of nothing before its expiry unless LICENSE_WARN_DAYS is set, and always afterwards", () => {
    const warningAt = (offset: number) =>
      licenseStanding(license, EXPIRY + offset, rules).state.warning;
    expect(warningAt(-10 * DAY)).toBeNull();
    expect(warningAt(-1)).toBeNull();
    expect(warningAt(0)).toContain(GRACE_HEADER);
    expect(warningAt(14 * DAY)).toMatch(
      /expired on 2026-11-01 .*grace ended on 2026-11-15; upload/,
    );
  });

  it("warns from LICENSE_WARN_DAYS before its expiry on", () => {
    const warningAt = (offset: number) =>
      licenseStanding(license, EXPIRY + offset, { graceDays: 14, warnDays: 7 }).state.warning;
    expect(warningAt(-7 * DAY - 1)).toBeNull();
    expect(warningAt(-7 * DAY)).toBe("The license expires on 2026-11-01: 7 days are left.");
    expect(warningAt(-1)).toBe("The license expires on 2026-11-01: 1 day is left.");
  });

  it("has no grace with LICENSE_GRACE_DAYS=0", () => {
    const at = (now: number) =>
      licenseStanding(license, now, { graceDays: 0, warnDays: undefined });
    expect(at(EXPIRY - 1).phase).toBe("valid");
    expect(at(EXPIRY)).toMatchObject({ phase: "invalid", graceWarning: undefined });
    expect(at(EXPIRY).state).toMatchObject({ valid: false, in_grace: false, days_left: 0 });
  });
});

describe("3.1 a perpetual license", () => {
  it("never ends and never warns", () => {
    const perpetual = { kind: "license", expiresAt: null } as const;
    expect(licenseStanding(perpetual, EXPIRY, { graceDays: 14, warnDays: 3_650 })).toEqual({
      phase: "valid",
      state: { valid: true, in_grace: false, expires_at: null, days_left: null, warning: null },
      graceWarning: undefined,
      changesAt: Number.POSITIVE_INFINITY,
    });
  });
});

describe("3.1 an installation without a license", () => {
  it.each([
    ["at once", -30 * DAY, ["valid", 30]],
    ["a second before the evaluation ends", -SECOND, ["valid", 1]],
    ["when the evaluation ends", 0, ["grace", 14]],
    ["a second before the grace ends", 14 * DAY - SECOND, ["grace", 1]],
    ["when the grace ends", 14 * DAY, ["invalid", 0]],
    ["long after", 400 * DAY, ["invalid", 0]],
  ] as const)("%s", (_, offset, [phase, daysLeft]) => {
    const { state, ...standing } = licenseStanding(evaluation, EXPIRY + offset, rules);
    expect(standing.phase).toBe(phase);
    expect(state).toMatchObject({ expires_at: "2026-11-01T00:00:00.000Z", days_left: daysLeft });
    expect(state.warning).toContain("No license is set");
    expect(state.warning).toContain("upload a license");
  });

  it("says in its grace's header when it expired and when that ends", () => {
    const { graceWarning } = licenseStanding(evaluation, EXPIRY, rules);
    expect(graceWarning).toBe(
      "Evaluation expired on 2026-11-01; everything works until 2026-11-15.",
    );
  });
});

describe("where a license stands", () => {
  it.each([license, evaluation])("holds exactly until it says that it changes ($kind)", (basis) => {
    const settings = { graceDays: 3, warnDays: 2 };
    let now = EXPIRY - 5 * DAY - 7 * SECOND;
    const seen: unknown[] = [];
    for (;;) {
      const standing = licenseStanding(basis, now, settings);
      seen.push([standing.phase, standing.state.days_left]);
      if (standing.changesAt === Number.POSITIVE_INFINITY) break;
      expect(standing.changesAt).toBeGreaterThan(now);
      expect(licenseStanding(basis, standing.changesAt - 1, settings)).toEqual(standing);
      now = standing.changesAt;
    }
    expect(seen).toEqual([
      ...[6, 5, 4, 3, 2, 1].map((days) => ["valid", days]),
      ...[3, 2, 1].map((days) => ["grace", days]),
      ["invalid", 0],
    ]);
  });
});
