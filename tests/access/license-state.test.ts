import { describe, expect, it } from "vitest";
import { evaluationState } from "../../src/access/license-state.ts";

const INSTALLED = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const SECOND = 1_000;

describe("an installation without a license", () => {
  it.each([
    ["at once", 0, [true, false, 30]],
    ["a second before the evaluation ends", 30 * DAY - SECOND, [true, false, 1]],
    ["when the evaluation ends", 30 * DAY, [true, true, 14]],
    ["a second before the grace ends", 44 * DAY - SECOND, [true, true, 1]],
    ["when the grace ends", 44 * DAY, [false, false, 0]],
    ["long after", 400 * DAY, [false, false, 0]],
  ] as const)("%s", (_, elapsed, [valid, inGrace, daysLeft]) => {
    const state = evaluationState(INSTALLED, INSTALLED + elapsed);
    expect(state).toMatchObject({ valid, in_grace: inGrace, days_left: daysLeft });
    expect(state.expires_at).toBe("2026-01-31T00:00:00.000Z");
    expect(state.warning).toContain("No license is set");
    expect(state.warning).toContain("upload");
  });
});
