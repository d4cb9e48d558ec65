import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyLimits } from "../../src/core/callers/caller.ts";
import type { Database } from "../../src/db/database.ts";
import type { LimitedCall } from "../../src/limits/limits.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import { openLimitsStage, UNLIMITED } from "../support/stages/limits-stage.ts";

/** A call of one of the user's keys, under the user's limits. */
function ofKey(keyId: string, limits: Partial<KeyLimits>): Partial<LimitedCall> {
  return { keyId, ownerId: "usr_1", ownerLimits: { ...UNLIMITED, ...limits } };
}

/** A call of a session, whose own limits are the user's. */
const SESSION = { keyId: "usr_1", isSession: true } as const;
const TOKENS = { inputTokens: 40, outputTokens: 60 } as const;

describe("The limits of a user", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database.close());

  for (const name of ["monthlyTokens", "requestsPerMinute"] as const) {
    const code = name === "monthlyTokens" ? "monthly_limit_exceeded" : "rate_limit_exceeded";

    it(`${name} of 0 refuse every key and session, and name the user`, async () => {
      const stage = await openLimitsStage(database);
      for (const refusal of [
        stage.refusal({}, ofKey("key_1", { [name]: 0 })),
        stage.refusal({ monthlyTokens: 1_000 }, ofKey("key_2", { [name]: 0 })),
        stage.refusal({ [name]: 0 }, SESSION),
      ]) {
        expect(refusal).toMatchObject({ status: 429, code, retryAfterSeconds: 86_400 });
        expect(refusal.message).toMatch(/^Your user account's limit .* is 0/);
      }
    });

    it(`${name} of 1 admit one call of all keys and sessions`, async () => {
      const stage = await openLimitsStage(database);
      stage.admit({}, ofKey("key_1", { [name]: 1 })).settle(1);
      for (const refusal of [
        stage.refusal({}, ofKey("key_1", { [name]: 1 })),
        stage.refusal({}, ofKey("key_2", { [name]: 1 })),
        stage.refusal({ [name]: 1 }, SESSION),
      ]) {
        expect(refusal).toMatchObject({ status: 429, code });
        expect(refusal.message).toContain("Your user account");
        expect(refusal.message).not.toContain("API key");
      }
    });

    it(`${name} of null refuse nothing`, async () => {
      const stage = await openLimitsStage(database);
      for (let count = 0; count < 200; count += 1) {
        stage.admit({}, { ...ofKey("key_1", { [name]: null }), ...TOKENS }).settle(100);
        stage.admit({ [name]: null }, { ...SESSION, ...TOKENS }).settle(100);
      }
    });
  }

  it("hold the tokens of calls in progress of all keys and sessions together", async () => {
    const stage = await openLimitsStage(database);
    const limits = { monthlyTokens: 300 };
    const first = stage.admit({}, { ...ofKey("key_1", limits), ...TOKENS });
    stage.admit({}, { ...ofKey("key_2", limits), ...TOKENS });
    const session = stage.admit(limits, { ...SESSION, ...TOKENS });
    const refusal = stage.refusal({}, { ...ofKey("key_3", limits), ...TOKENS });
    expect(refusal.message).toMatch(/^Calls under way hold what is left of your user account's/);
    first.settle(10);
    expect(stage.admit({}, { ...ofKey("key_3", limits), ...TOKENS }).outputTokens).toBe(50);
    expect(() => session.extend(10, 1)).toThrow(/your user account/);
    session.settle(100);
    expect(() => stage.admit(limits, { ...SESSION, ...TOKENS })).toThrow(/your user account/);
  });

  it("and those of the key both bound a call, and the nearest is reported", async () => {
    const stage = await openLimitsStage(database);
    const owner = ofKey("key_1", { monthlyTokens: 500, requestsPerMinute: 10 });
    const near = stage.admit({ tokens: 120, requestsPerMinute: 20 }, { ...owner, ...TOKENS });
    expect(near.status.tokens).toMatchObject({ limit: 120, remaining: 20 });
    expect(near.status.requests).toMatchObject({ limit: 10, remaining: 9 });
    near.settle(100);
    const far = stage.admit({ tokens: 1_000 }, { ...owner, ...TOKENS, outputTokens: 900 });
    expect(far.outputTokens).toBe(360);
    expect(far.status.tokens).toMatchObject({ limit: 500, remaining: 0 });
  });

  it("include what a key used before the user had limits", async () => {
    const stage = await openLimitsStage(database);
    stage.limits.book("key_1", stage.now, 60, "usr_1");
    stage.limits.bookSession("usr_1", stage.now, 30);
    stage.admit({ tokens: 1_000 }, { keyId: "key_2", ownerId: "usr_1" }).settle(9);
    const limits = { monthlyTokens: 100 };
    expect(stage.admit({}, ofKey("key_3", limits)).status.tokens?.remaining).toBe(1);
    expect(stage.refusal({}, { ...ofKey("key_3", limits), ...TOKENS })).toMatchObject({
      code: "monthly_limit_exceeded",
    });
  });

  it("are not those of the key's budget, of which observers learn", async () => {
    const stage = await openLimitsStage(database);
    const limits = { monthlyTokens: 50 };
    stage.admit({}, ofKey("key_1", limits)).settle(50);
    stage.refusal({}, ofKey("key_1", limits));
    stage.refusal(limits, SESSION);
    expect(stage.told).toEqual([]);
  });
});
