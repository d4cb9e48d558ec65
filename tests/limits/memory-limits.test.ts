import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { KeyLimits } from "../../src/core/callers/caller.ts";
import type { Database } from "../../src/db/database.ts";
import { deletedApiKeys } from "../../src/db/tables/api-keys.ts";
import { createLog } from "../../src/lib/log.ts";
import type { Admission, LimitedCall } from "../../src/limits/limits.ts";
import { createRandom } from "../support/faults/random.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import {
  CALL_TIMEOUT_MS,
  type LimitsStage,
  NOON,
  openLimitsStage,
  UNLIMITED,
} from "../support/stages/limits-stage.ts";

const DAY_SECONDS = 86_400;
const NOVEMBER = Date.UTC(2026, 10, 1);
const stages: LimitsStage[] = [];
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});

afterEach(async () => {
  for (const { limits } of stages.splice(0)) await limits.close();
});

afterAll(() => database.close());

async function open(at = NOON): Promise<LimitsStage> {
  const stage = await openLimitsStage(database, at);
  stages.push(stage);
  return stage;
}

const NAMES = ["requestsPerMinute", "requests", "tokens", "monthlyTokens"] as const;
const CODES: Record<keyof KeyLimits, string> = {
  requestsPerMinute: "rate_limit_exceeded",
  requests: "request_limit_exceeded",
  tokens: "token_limit_exceeded",
  monthlyTokens: "monthly_limit_exceeded",
};

/** Calls of every kind: a chat, a prompt without an answer, one that brings no tokens at all. */
const CALLS: Record<string, Partial<LimitedCall>> = {
  chat: { inputTokens: 10, outputTokens: 100 },
  embedding: { inputTokens: 1 },
  "tool call": {},
};

describe("each limit", () => {
  for (const name of NAMES) {
    for (const [kind, call] of Object.entries(CALLS)) {
      it(`${name} of 0 refuses a ${kind} for good`, async () => {
        const stage = await open();
        const error = stage.refusal({ [name]: 0 }, call);
        expect(error).toMatchObject({
          status: 429,
          code: CODES[name],
          retryAfterSeconds: DAY_SECONDS,
          shouldRetry: false,
        });
        expect(error.message).toMatch(/is 0: it may make no calls/);
      });
    }
  }

  for (const [kind, call] of Object.entries(CALLS)) {
    it(`of null never refuses a ${kind}`, async () => {
      const stage = await open();
      for (let count = 0; count < 1_000; count += 1) {
        const admission = stage.admit({}, call);
        expect(admission.outputTokens).toBeUndefined();
        expect(admission.status).toEqual({ requests: undefined, tokens: undefined });
        admission.settle(1_000_000);
      }
    });
  }

  for (const name of ["requestsPerMinute", "requests"] as const) {
    it(`${name} of 1 admits one call`, async () => {
      const stage = await open();
      stage.admit({ [name]: 1 }).settle(50);
      expect(stage.refusal({ [name]: 1 }).code).toBe(CODES[name]);
    });
  }

  for (const name of ["tokens", "monthlyTokens"] as const) {
    it(`${name} of 1 admits calls as long as they use none`, async () => {
      const stage = await open();
      stage.admit({ [name]: 1 }).settle(0);
      stage.admit({ [name]: 1 }, { outputTokens: 5 }).settle(0);
      stage.admit({ [name]: 1 }, { inputTokens: 1 }).settle(1);
      expect(stage.refusal({ [name]: 1 }).code).toBe(CODES[name]);
    });
  }
});

describe("a refusal", () => {
  it("by calls a minute says when one call passes, and then it does", async () => {
    const stage = await open();
    const limits = { requestsPerMinute: 2 };
    stage.admit(limits);
    stage.pass(10_500);
    stage.admit(limits);
    const error = stage.refusal(limits);
    expect(error).toMatchObject({ code: "rate_limit_exceeded", retryAfterSeconds: 50 });
    expect(error.shouldRetry).toBeUndefined();
    expect(error.message).toBe(
      "This API key's limit of 2 requests in any 60 seconds is reached. Wait 50 seconds.",
    );
    expect(error.limits?.requests).toMatchObject({
      limit: 2,
      remaining: 0,
      resetsAt: stage.now + 60_000,
    });
    stage.pass(49_499);
    expect(stage.refusal(limits).retryAfterSeconds).toBe(1);
    stage.pass(1);
    stage.admit(limits);
  });

  it("after the limit was lowered says when enough calls have left", async () => {
    const stage = await open();
    for (let call = 0; call < 10; call += 1) {
      stage.admit({ requestsPerMinute: 10 });
      stage.pass(1_000);
    }
    // Of ten calls, a second apart, the ninth has to leave: it came two seconds ago.
    expect(stage.refusal({ requestsPerMinute: 2 }).retryAfterSeconds).toBe(58);
  });

  it("by the month says when the next one begins, UTC, and then a call passes", async () => {
    const stage = await open();
    const limits = { monthlyTokens: 100 };
    stage.admit(limits, { inputTokens: 100 }).settle(100);
    const error = stage.refusal(limits, { inputTokens: 1 });
    expect(error).toMatchObject({
      code: "monthly_limit_exceeded",
      retryAfterSeconds: (NOVEMBER - NOON) / 1_000,
      shouldRetry: false,
    });
    expect(error.message).toContain("has used up its limit of 100 tokens a month");
    expect(error.message).toContain("2026-11-01T00:00:00.000Z");
    expect(error.limits?.tokens).toMatchObject({ limit: 100, remaining: 0, resetsAt: NOVEMBER });
    stage.now = NOVEMBER - 1;
    expect(stage.refusal(limits, { inputTokens: 1 }).retryAfterSeconds).toBe(1);
    stage.now = NOVEMBER;
    expect(stage.admit(limits, { inputTokens: 60, outputTokens: 60 }).outputTokens).toBe(40);
  });

  it("of a call that needs more than is left tells both", async () => {
    const stage = await open();
    stage.admit({ tokens: 100 }, { inputTokens: 70 }).settle(70);
    const error = stage.refusal({ tokens: 100 }, { inputTokens: 30, outputTokens: 5 });
    expect(error).toMatchObject({
      code: "token_limit_exceeded",
      retryAfterSeconds: DAY_SECONDS,
      shouldRetry: false,
    });
    expect(error.message).toContain(
      "may need 31 tokens, and this API key has 30 left of its limit of 100 tokens",
    );
  });

  it("of a prompt that no month holds sends nobody to the next one", async () => {
    const stage = await open();
    const error = stage.refusal({ monthlyTokens: 100 }, { inputTokens: 101 });
    expect(error).toMatchObject({ retryAfterSeconds: DAY_SECONDS, shouldRetry: false });
    expect(error.message).not.toContain("2026");
  });

  it("for what calls under way hold is short, and passes when they end", async () => {
    for (const limits of [{ tokens: 1_000 }, { monthlyTokens: 1_000 }]) {
      const stage = await open();
      const first = stage.admit(limits, { inputTokens: 10, outputTokens: 8_192 });
      expect(first.outputTokens).toBe(990);
      const error = stage.refusal(limits, { inputTokens: 10, outputTokens: 10 });
      expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(error.retryAfterSeconds).toBeLessThanOrEqual(5);
      expect(error.shouldRetry).toBeUndefined();
      expect(error.message).toContain("Calls under way hold what is left");
      expect(stage.told).toEqual([]);
      first.settle(500);
      expect(stage.admit(limits, { inputTokens: 10, outputTokens: 8_192 }).outputTokens).toBe(490);
    }
  });

  it("names the limit that holds longest", async () => {
    const stage = await open();
    const limits = { requestsPerMinute: 1, requests: 1, tokens: 10, monthlyTokens: 10 };
    stage.admit(limits, { inputTokens: 10 }).settle(10);
    const codeUnder = (changed: Partial<KeyLimits>) =>
      stage.refusal({ ...limits, ...changed }, { inputTokens: 1 }).code;
    expect(codeUnder({})).toBe("request_limit_exceeded");
    expect(codeUnder({ requests: null })).toBe("token_limit_exceeded");
    expect(codeUnder({ requests: null, tokens: null })).toBe("monthly_limit_exceeded");
    expect(codeUnder({ requests: null, tokens: null, requestsPerMinute: 0 })).toBe(
      "rate_limit_exceeded",
    );
    stage.pass(NOVEMBER - 1_000 - stage.now);
    stage.admit({ requestsPerMinute: 1 });
    // The month is over in a second, the minute is not.
    expect(codeUnder({ requests: null, tokens: null })).toBe("rate_limit_exceeded");
  });

  it("counts nowhere", async () => {
    const stage = await open();
    const limits = { requestsPerMinute: 1, requests: 2, tokens: 100, monthlyTokens: 100 };
    stage.admit(limits, { inputTokens: 10 }).settle(10);
    for (let call = 0; call < 100; call += 1) stage.refusal(limits, { inputTokens: 10 });
    expect(await stage.read(limits)).toEqual({
      requestsPerMinute: { limit: 1, used: 1, reserved: 0, remaining: 0, resetsAt: NOON + 60_000 },
      requests: { limit: 2, used: 1, reserved: 0, remaining: 1, resetsAt: null },
      tokens: { limit: 100, used: 10, reserved: 0, remaining: 90, resetsAt: null },
      monthlyTokens: { limit: 100, used: 10, reserved: 0, remaining: 90, resetsAt: NOVEMBER },
    });
  });
});

describe("an admission", () => {
  it("grants what is asked for, or what remains beside the prompt", async () => {
    const stage = await open();
    const limits = { tokens: 1_000, monthlyTokens: 500 };
    expect(stage.admit(limits, { inputTokens: 100, outputTokens: 50 }).outputTokens).toBe(50);
    expect(stage.admit(limits, { inputTokens: 100, outputTokens: 900 }).outputTokens).toBe(250);
    expect(stage.refusal(limits, { outputTokens: 1 }).code).toBe("monthly_limit_exceeded");
  });

  it("tells what is left with the call counted in, of the scarcer limit of each kind", async () => {
    const stage = await open();
    const limits = { requestsPerMinute: 5, requests: 3, tokens: 1_000, monthlyTokens: 500 };
    expect(stage.admit(limits, { inputTokens: 10, outputTokens: 90 }).status).toEqual({
      requests: { limit: 3, used: 1, reserved: 0, remaining: 2, resetsAt: null },
      tokens: { limit: 500, used: 0, reserved: 100, remaining: 400, resetsAt: NOVEMBER },
    });
  });

  it("gives back and books once, however often it is settled", async () => {
    const stage = await open();
    const limits = { tokens: 1_000 };
    const admission = stage.admit(limits, { inputTokens: 10, outputTokens: 90 });
    for (let time = 0; time < 3; time += 1) admission.settle(30);
    expect((await stage.read(limits)).tokens).toMatchObject({
      used: 30,
      reserved: 0,
      remaining: 970,
    });
  });

  it("books what was used also beyond what was held, and nothing for a figure that is none", async () => {
    const stage = await open();
    const limits = { tokens: 100 };
    const [first, second, third] = [stage.admit(limits), stage.admit(limits), stage.admit(limits)];
    first.settle(Number.NaN);
    second.settle(-5);
    third.settle(150);
    expect((await stage.read(limits)).tokens).toMatchObject({ used: 150, remaining: 0 });
  });

  it("holds tokens also where none are limited, for a limit that is set meanwhile", async () => {
    const stage = await open();
    stage.admit({ requests: 10 }, { inputTokens: 10, outputTokens: 100 });
    expect((await stage.read({ tokens: 1_000 })).tokens).toMatchObject({ reserved: 110 });
  });

  it("that never ends is forgotten after its time, and still booked should it end", async () => {
    const warnings: string[] = [];
    const log = createLog("warn", { write: (line) => void warnings.push(line) });
    const stage = await openLimitsStage(database, NOON, log);
    stages.push(stage);
    const limits = { tokens: 100 };
    const lost = stage.admit(limits, { inputTokens: 50, outputTokens: 50 });
    stage.ran += CALL_TIMEOUT_MS + 59_999;
    expect(stage.refusal(limits).code).toBe("token_limit_exceeded");
    stage.ran += 1;
    expect(stage.admit(limits, { outputTokens: 100 }).outputTokens).toBe(100);
    expect(warnings).toHaveLength(1);
    lost.settle(40);
    expect((await stage.read(limits)).tokens).toMatchObject({ used: 40, reserved: 100 });
  });
});

describe("a clock that is set forward", () => {
  it("gives back nothing of what calls under way hold", async () => {
    const stage = await open();
    const limits = { tokens: 100 };
    const held = stage.admit(limits, { inputTokens: 50, outputTokens: 50 });
    stage.now += 365 * DAY_SECONDS * 1_000;
    expect(stage.refusal(limits).code).toBe("token_limit_exceeded");
    held.settle(100);
    expect((await stage.read(limits)).tokens).toMatchObject({ used: 100, reserved: 0 });
  });
});

describe("calls a minute", () => {
  it("are never more than the limit in any 60 seconds, at the window's edge neither", async () => {
    const stage = await open();
    const admitted: number[] = [];
    for (const second of [59.5, 60.5]) {
      stage.pass(NOON + second * 1_000 - stage.now);
      for (let call = 0; call < 60; call += 1) {
        if (isAdmitted(stage, 60)) admitted.push(stage.now);
      }
    }
    expect(admitted).toHaveLength(60);
  });

  it("are exactly those a list of all times would admit, over 10,000 random steps", async () => {
    const stage = await open();
    const random = createRandom(7);
    const limit = 60;
    const admitted: number[] = [];
    let refused = 0;
    for (let step = 0; step < 10_000; step += 1) {
      if (random() < 0.4) stage.pass(Math.floor(random() ** 4 * 10_000));
      const inWindow = admitted.filter((time) => time > stage.now - 60_000).length;
      const passes = isAdmitted(stage, limit);
      expect(passes).toBe(inWindow < limit);
      if (passes) admitted.push(stage.now);
      else refused += 1;
    }
    // Both ends of the rule were tried, and hard.
    expect(refused).toBeGreaterThan(1_000);
    expect(admitted.length).toBeGreaterThan(1_000);
    for (const begin of admitted) {
      const inWindow = admitted.filter((time) => time >= begin && time < begin + 60_000);
      expect(inWindow.length).toBeLessThanOrEqual(limit);
    }
  });

  it.each([3_600_000, -3_600_000, 60_000])(
    "are neither forgotten nor held for longer when the clock is set by %i ms",
    async (step) => {
      const stage = await open();
      const limits = { requestsPerMinute: 1 };
      stage.admit(limits);
      stage.now += step;
      expect(stage.refusal(limits).retryAfterSeconds).toBe(60);
      stage.pass(59_999);
      expect(stage.refusal(limits).retryAfterSeconds).toBe(1);
      stage.pass(1);
      stage.admit(limits);
    },
  );
});

describe("tokens", () => {
  it.each([1, 2, 3, 4, 5])(
    "never exceed a limit, in whatever order calls are admitted and settled (%i)",
    async (seed) => {
      const stage = await open();
      const random = createRandom(seed);
      const calls = new RandomCalls(stage, random);
      for (let step = 0; step < 3_000; step += 1) {
        if (random() < 0.5) calls.begin();
        else calls.endOne();
        expect(calls.used + calls.held).toBeLessThanOrEqual(TOKENS);
      }
      expect(calls.used).toBeGreaterThan(TOKENS * 0.9);
      calls.endAll();
      const left = { used: calls.used, reserved: 0 };
      const report = await stage.read({ tokens: TOKENS, monthlyTokens: 2 * TOKENS });
      expect(report.tokens).toMatchObject({ ...left, remaining: TOKENS - calls.used });
      expect(report.monthlyTokens).toMatchObject(left);
    },
  );

  it("count to the month their call began in, and are held in no other", async () => {
    const stage = await open(NOVEMBER - 1_000);
    const limits = { monthlyTokens: 1_000, tokens: 10_000 };
    const call = { inputTokens: 100, outputTokens: 600 };
    const late = stage.admit(limits, call);
    stage.now = NOVEMBER + 1_000;
    expect((await stage.read(limits)).monthlyTokens).toMatchObject({ used: 0, reserved: 0 });
    expect((await stage.read(limits)).tokens).toMatchObject({ used: 0, reserved: 700 });
    late.settle(650);
    expect((await stage.read(limits)).monthlyTokens).toMatchObject({ used: 0, remaining: 1_000 });
    expect((await stage.read(limits)).tokens).toMatchObject({ used: 650, reserved: 0 });
    // A call whose body was still on its way at midnight spends what October has left.
    const stillOctober = { ...call, startedAt: NOVEMBER - 500 };
    expect(stage.admit(limits, stillOctober).outputTokens).toBe(250);
    expect(stage.refusal(limits, { inputTokens: 1, startedAt: NOVEMBER - 500 }).code).toBe(
      "monthly_limit_exceeded",
    );
    expect(stage.admit(limits, call).outputTokens).toBe(600);
  });

  it("of a month stay used when the clock goes back into it", async () => {
    const stage = await open();
    const limits = { monthlyTokens: 100 };
    stage.admit(limits, { inputTokens: 100 }).settle(100);
    stage.now = NOVEMBER;
    stage.admit(limits, { inputTokens: 90 }).settle(90);
    stage.now = Date.UTC(2027, 3, 5);
    stage.admit(limits, { inputTokens: 100 }).settle(100);
    stage.now = NOON;
    expect(stage.refusal(limits, { inputTokens: 1 }).code).toBe("monthly_limit_exceeded");
    stage.now = NOVEMBER;
    expect(stage.refusal(limits, { inputTokens: 11 }).code).toBe("monthly_limit_exceeded");
  });

  it("of a key without limits count for those it is given later", async () => {
    const stage = await open();
    stage.limits.book("key_1", NOON, 70);
    stage.limits.book("key_1", NOVEMBER - 60 * 86_400_000, 20);
    expect(await stage.read({ requests: 3, tokens: 100, monthlyTokens: 100 })).toMatchObject({
      requests: { used: 2 },
      tokens: { used: 90 },
      monthlyTokens: { used: 70 },
    });
  });
});

describe("the observer of monthly use", () => {
  it("is told of each settle in the month of now, and of what the month refuses", async () => {
    const stage = await open(NOVEMBER - 1_000);
    const limits = { monthlyTokens: 100 };
    stage.admit(limits, { inputTokens: 40 }).settle(40);
    stage.refusal(limits, { inputTokens: 70 });
    stage.refusal(limits, { inputTokens: 70, asksAgain: true });
    stage.admit({ tokens: 1_000 }, { inputTokens: 1 }).settle(1);
    const late = stage.admit(limits, { inputTokens: 10 });
    stage.now = NOVEMBER;
    late.settle(10);
    expect(stage.told).toEqual([
      ["use", "key_1", 40, 100],
      ["refusal", "key_1", 40, 100],
    ]);
  });
});

const TOKENS = 30_000;

/** Begins and ends calls at random, and knows by a sum of its own what has to come of it. */
class RandomCalls {
  used = 0;
  held = 0;
  readonly #stage: LimitsStage;
  readonly #random: () => number;
  readonly #open: { readonly admission: Admission; readonly tokens: number }[] = [];

  constructor(stage: LimitsStage, random: () => number) {
    this.#stage = stage;
    this.#random = random;
  }

  begin(): void {
    const limits = { tokens: TOKENS, monthlyTokens: 2 * TOKENS };
    const inputTokens = this.#upTo(300);
    const outputTokens = this.#random() < 0.2 ? 0 : 1 + this.#upTo(2_000);
    const left = TOKENS - this.used - this.held;
    if (Math.max(1, inputTokens + Math.min(1, outputTokens)) > left) {
      this.#stage.refusal(limits, { inputTokens, outputTokens });
      return;
    }
    const admission = this.#stage.admit(limits, { inputTokens, outputTokens });
    const granted = Math.min(outputTokens, left - inputTokens);
    expect(admission.outputTokens).toBe(granted);
    this.#open.push({ admission, tokens: inputTokens + granted });
    this.held += inputTokens + granted;
  }

  /** Most calls use little of what they hold, so that the end comes slowly. */
  endOne(): void {
    const [ended] = this.#open.splice(this.#upTo(this.#open.length), 1);
    if (ended === undefined) return;
    const tokens = Math.floor(ended.tokens * this.#random() ** 6);
    ended.admission.settle(tokens);
    this.used += tokens;
    this.held -= ended.tokens;
  }

  endAll(): void {
    for (const { admission } of this.#open) admission.settle(0);
  }

  #upTo(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

describe("a key that is deleted", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is forgotten within the hour", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const stage = await open();
    stage.limits.book("key_1", NOON, 70);
    stage.limits.book("key_2", NOON, 70);
    await database.db.insert(deletedApiKeys).values({ id: "key_1", changeSeq: 1 });
    vi.advanceTimersByTime(3_600_000);
    await expect
      .poll(async () => (await stage.read({ tokens: 100 })).tokens?.used, { timeout: 10_000 })
      .toBe(0);
    const kept = { ...UNLIMITED, tokens: 100 };
    expect((await stage.limits.read("key_2", kept, NOON)).tokens?.used).toBe(70);
  });
});

function isAdmitted(stage: LimitsStage, requestsPerMinute: number): boolean {
  try {
    stage.admit({ requestsPerMinute }).settle(0);
    return true;
  } catch {
    return false;
  }
}

describe("A call in progress that asks for further tokens", () => {
  it("gets them, or what remains, and is not counted again", async () => {
    const stage = await open();
    const limits = { tokens: 1_000, requests: 1, requestsPerMinute: 1 };
    const admission = stage.admit(limits, { inputTokens: 100, outputTokens: 200 });
    expect(admission.extend(300, 300)).toBe(300);
    expect(admission.extend(900, 0)).toBe(400);
    expect(admission.extend(900, 0)).toBe(0);
    expect(await stage.read(limits)).toMatchObject({
      tokens: { used: 0, reserved: 1_000 },
      requests: { used: 1 },
    });
    admission.settle(650);
    expect(await stage.read(limits)).toMatchObject({ tokens: { used: 650, reserved: 0 } });
  });

  it("is refused by the limit that leaves too little, and holds what it held", async () => {
    const stage = await open();
    const limits = { monthlyTokens: 1_000 };
    const admission = stage.admit(limits, { inputTokens: 600 });
    expect(() => admission.extend(500, 401)).toThrow(
      expect.objectContaining({ code: "monthly_limit_exceeded", shouldRetry: false }),
    );
    expect(stage.told).toEqual([["refusal", "key_1", 0, 1_000]]);
    expect(await stage.read(limits)).toMatchObject({ monthlyTokens: { reserved: 600 } });
  });

  it("may ask again where other calls hold what it lacks", async () => {
    const stage = await open();
    const limits = { tokens: 1_000 };
    const other = stage.admit(limits, { inputTokens: 500 });
    const admission = stage.admit(limits, { inputTokens: 400 });
    const refused = expect.objectContaining({
      code: "token_limit_exceeded",
      shouldRetry: undefined,
    });
    expect(() => admission.extend(200, 200)).toThrow(refused);
    other.settle(0);
    expect(admission.extend(200, 200)).toBe(200);
  });

  it("counts to the month in which it began", async () => {
    const stage = await open(NOVEMBER - 1_000);
    const limits = { monthlyTokens: 1_000 };
    const admission = stage.admit(limits, { inputTokens: 600 });
    stage.pass(2_000);
    expect(stage.admit(limits, { inputTokens: 900 }).outputTokens).toBe(0);
    expect(admission.extend(900, 0)).toBe(400);
  });

  it("gets nothing after its reservation was settled or has expired", async () => {
    const stage = await open();
    const settled = stage.admit({ tokens: 10 }, { inputTokens: 1 });
    settled.settle(1);
    expect(() => settled.extend(1, 0)).toThrow(
      expect.objectContaining({ code: "storage_unavailable" }),
    );
    expect(await stage.read({ tokens: 10 })).toMatchObject({ tokens: { used: 1, reserved: 0 } });
  });

  it.each([1, 2, 3, 4, 5])(
    "never gets more than a limit leaves, whatever others do meanwhile (seed %i)",
    async (seed) => {
      const stage = await open();
      const random = createRandom(seed);
      const limits = { tokens: 5_000, monthlyTokens: 4_000 };
      const calls: { admission: Admission; held: number }[] = [];
      const admit = () => {
        const inputTokens = Math.floor(random() * 300);
        try {
          calls.push({ admission: stage.admit(limits, { inputTokens }), held: inputTokens });
        } catch {
          // The limit is used up.
        }
      };
      for (let step = 0; step < 400; step += 1) {
        const call = calls[Math.floor(random() * calls.length)];
        const what = random();
        if (call === undefined || what < 0.2) admit();
        else if (what < 0.8) call.held += Number(call.admission.extend(random() * 500, 0));
        else {
          call.admission.settle(Math.floor(random() * call.held));
          calls.splice(calls.indexOf(call), 1);
        }
        const { monthlyTokens } = await stage.read(limits);
        const held = calls.reduce((sum, one) => sum + one.held, 0);
        expect(monthlyTokens?.reserved).toBeCloseTo(held);
        expect((monthlyTokens?.used ?? 0) + held).toBeLessThanOrEqual(4_000);
      }
    },
  );
});
