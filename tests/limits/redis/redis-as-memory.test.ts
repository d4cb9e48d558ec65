import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { KeyLimits } from "../../../src/core/callers/caller.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { Admission, LimitedCall, Limits, LimitUse } from "../../../src/limits/limits.ts";
import { openMemoryLimits } from "../../../src/limits/memory-limits.ts";
import { openRedisLimits } from "../../../src/limits/redis/redis-limits.ts";
import { createRandom } from "../../support/faults/random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { startRedisServer } from "../../support/servers/redis-server.ts";

vi.setConfig({ testTimeout: 120_000 });

const STEPS = trialSize(200, 400);
const SEEDS = trialSize([1, 2, 6], [1, 2, 3, 4, 5, 6]);
const CALL_TIMEOUT_MS = 600_000;
/** Forty minutes later another month begins. */
const LAST_EVENING = Date.UTC(2026, 9, 31, 23, 20);
const MONTH_END = Date.UTC(2026, 10, 1);
/** What two clocks may differ by that are read one after the other on a busy machine. */
const CLOCKS_APART_MS = 1_000;

const server = await startRedisServer();
afterAll(() => server?.remove());

/** What came of asking for a call. */
interface Answer {
  readonly admission?: Admission;
  readonly refusal?: ServiceError;
}

interface OpenCall {
  readonly admissions: readonly Admission[];
  held: number;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

/** The two that are to be the same, and what each told its observer. */
interface Twins {
  readonly memory: Limits;
  readonly redis: Limits;
  readonly told: readonly [string[], string[]];
}

describe.runIf(server !== undefined)("limits in Redis", () => {
  const { url } = server as NonNullable<typeof server>;
  let database: Database;
  let aheadMs = 0;
  const admittedAt: number[] = [];
  const clock = { now: () => Date.now() + aheadMs };

  beforeAll(async () => {
    database = await openTestDatabase();
  });
  afterAll(() => database.close());

  for (const seed of SEEDS) {
    it(`decide, hold, extend, book, tell and report as those in memory do (seed ${seed})`, async () => {
      aheadMs = LAST_EVENING - Date.now();
      const random = createRandom(seed);
      const twins = await openTwins();
      const keyId = `key_${randomBase62(22)}`;
      const limits = randomLimits(random);
      const open: OpenCall[] = [];
      admittedAt.length = 0;
      for (let step = 0; step < STEPS; step += 1) {
        leaveBorders();
        await takeStep(twins, open, () => randomCall(random, keyId, limits), random);
        await expectSameReport(twins, keyId, limits);
      }
      while (open.length > 0) settleOne(open, random);
      await expectSameReport(twins, keyId, limits);
      expect(twins.told[1]).toEqual(twins.told[0]);
      await Promise.all([twins.memory.close(), twins.redis.close()]);
    });
  }

  for (const seed of SEEDS) {
    it(`decide the calls of a user's keys and sessions as those in memory do (seed ${seed})`, async () => {
      aheadMs = LAST_EVENING - Date.now();
      const random = createRandom(seed + 100);
      const twins = await openTwins();
      const ownerId = `usr_${randomBase62(22)}`;
      const ownerLimits = {
        ...randomLimits(() => 0.4 + 0.6 * random()),
        requests: null,
        tokens: null,
      };
      const keys = Array.from({ length: 3 }, () => ({
        keyId: `key_${randomBase62(22)}`,
        limits: randomLimits(random),
        ownerId,
        ownerLimits,
      }));
      const session = { keyId: ownerId, limits: { ...ownerLimits }, isSession: true };
      const nextCall = () => {
        const subject = keys[Math.floor(random() * 4)] ?? session;
        return { ...randomCall(random, subject.keyId, subject.limits), ...subject };
      };
      const open: OpenCall[] = [];
      admittedAt.length = 0;
      for (let step = 0; step < STEPS; step += 1) {
        leaveBorders();
        await takeStep(twins, open, nextCall, random);
        for (const { keyId, limits } of keys) await expectSameReport(twins, keyId, limits);
        await expectSameReport(twins, ownerId, ownerLimits);
      }
      while (open.length > 0) settleOne(open, random);
      await expectSameReport(twins, ownerId, ownerLimits);
      expect(twins.told[1].sort()).toEqual(twins.told[0].sort());
      await Promise.all([twins.memory.close(), twins.redis.close()]);
    });
  }

  /**
   * Moves the clock on from where a call leaves its minute or its longest time, or a month ends: there a moment more
   * decides, and the two read their clocks one after the other.
   */
  function leaveBorders(): void {
    const now = clock.now();
    const borders = [
      MONTH_END,
      ...admittedAt.flatMap((time) => [time + 60_000, time + CALL_TIMEOUT_MS]),
    ].sort((one, other) => one - other);
    let clear = now;
    for (const border of borders) {
      if (Math.abs(border - clear) <= CLOCKS_APART_MS) clear = border + CLOCKS_APART_MS + 1;
    }
    aheadMs += clear - now;
  }

  async function takeStep(
    twins: Twins,
    open: OpenCall[],
    nextCall: () => LimitedCall,
    random: () => number,
  ): Promise<void> {
    // The process's own clock, which the test does not move, lets a replica restore a call in Redis that has expired.
    const over = open.findIndex(({ startedAt }) => clock.now() - startedAt >= CALL_TIMEOUT_MS);
    if (over >= 0) settleOne(open, random, over);
    const what = random();
    if (what < 0.35) settleOne(open, random);
    else if (what < 0.45) aheadMs += Math.floor(random() * 10) * 5_300;
    else if (what < 0.47) aheadMs += CALL_TIMEOUT_MS / 3 + 1_234;
    else if (what < 0.65) await extendOne(open, random);
    else {
      const call = nextCall();
      if (await admitOne(twins, open, call)) admittedAt.push(call.startedAt);
    }
  }

  async function openTwins(): Promise<Twins> {
    const told = [[], []] as [string[], string[]];
    const given = (lines: string[]) => ({
      database,
      clock,
      log: createLog("error"),
      callTimeoutMs: CALL_TIMEOUT_MS,
      waitMs: 2_000,
      observer: {
        onMonthUse: (...facts: readonly unknown[]) => void lines.push(`use ${facts}`),
        onMonthlyRefusal: (...facts: readonly unknown[]) => void lines.push(`refusal ${facts}`),
      },
    });
    const memory = await openMemoryLimits({ ...given(told[0]), monotonic: clock.now });
    const installation = randomBase62(8);
    const redis = await openRedisLimits({ ...given(told[1]), url, installation });
    for (const limits of [memory, redis]) limits.start(Promise.resolve());
    return { memory, redis, told };
  }

  function randomCall(random: () => number, keyId: string, limits: KeyLimits): LimitedCall {
    return {
      id: randomBase62(22),
      keyId,
      // Another object is a changed key: it is read from the database again, which has nothing of it here.
      limits: random() < 0.1 ? { ...limits } : limits,
      startedAt: clock.now(),
      inputTokens: Math.floor(random() * 300),
      outputTokens: random() < 0.2 ? 0 : Math.floor(random() * 600),
    };
  }

  async function expectSameReport(
    { memory, redis }: Twins,
    keyId: string,
    limits: KeyLimits,
  ): Promise<void> {
    const reads = [memory, redis].map((each) => each.read(keyId, limits, clock.now()));
    const [one = {}, other = {}] = await Promise.all(reads);
    expect(Object.keys(other)).toEqual(Object.keys(one));
    for (const name of Object.keys(one) as (keyof typeof one)[]) {
      const { resetsAt: mine, ...here } = one[name] as LimitUse;
      const { resetsAt: theirs, ...there } = other[name] as LimitUse;
      expect(there, name).toEqual(here);
      expectAbout(theirs, mine, 5_000);
    }
  }
});

function randomLimits(random: () => number): KeyLimits {
  const orNone = (most: number, step = 1) =>
    random() < 0.4 ? null : Math.floor(random() * (most + 1)) * step;
  return {
    monthlyTokens: orNone(20, 1_000),
    requests: orNone(150),
    requestsPerMinute: orNone(8),
    tokens: orNone(40, 1_000),
  };
}

function settleOne(
  open: OpenCall[],
  random: () => number,
  index = Math.floor(random() * open.length),
): void {
  const [ended] = open.splice(index, 1);
  if (ended === undefined) return;
  const isRefused = random() < 0.2;
  const tokens = Math.floor(random() * (ended.held + 1));
  for (const admission of ended.admissions) {
    if (isRefused) admission.cancel();
    else admission.settle(tokens);
  }
}

/** Asks for further tokens for one of the calls in progress. */
async function extendOne(open: readonly OpenCall[], random: () => number): Promise<void> {
  const call = open[Math.floor(random() * open.length)];
  if (call === undefined) return;
  const tokens = Math.floor(random() * 600);
  const least = random() < 0.5 ? 0 : Math.floor(random() * (tokens + 1));
  const [one, other] = await Promise.all(
    call.admissions.map(async (admission) => {
      try {
        return await admission.extend(tokens, least);
      } catch (thrown) {
        if (thrown instanceof ServiceError) return thrown;
        throw thrown;
      }
    }),
  );
  if (typeof one === "number") call.held += one;
  expect(other instanceof ServiceError ? other.code : other).toBe(
    one instanceof ServiceError ? one.code : one,
  );
}

/** Whether it was admitted. */
async function admitOne(
  { memory, redis }: Twins,
  open: OpenCall[],
  call: LimitedCall,
): Promise<boolean> {
  const [one, other] = (await Promise.all([ask(memory, call), ask(redis, call)])) as [
    Answer,
    Answer,
  ];
  expect(other.refusal?.code).toBe(one.refusal?.code);
  expect(other.refusal?.shouldRetry).toBe(one.refusal?.shouldRetry);
  expectAbout(other.refusal?.retryAfterSeconds, one.refusal?.retryAfterSeconds, 5);
  if (one.admission === undefined || other.admission === undefined) return false;
  expect(other.admission.outputTokens).toBe(one.admission.outputTokens);
  for (const kind of ["requests", "tokens"] as const) {
    expect(other.admission.status[kind]?.remaining).toBe(one.admission.status[kind]?.remaining);
  }
  const held = call.inputTokens + (one.admission.outputTokens ?? call.outputTokens);
  open.push({ admissions: [one.admission, other.admission], held, startedAt: call.startedAt });
  return true;
}

async function ask(limits: Limits, call: LimitedCall): Promise<Answer> {
  try {
    return { admission: await limits.admit(call) };
  } catch (thrown) {
    if (thrown instanceof ServiceError) return { refusal: thrown };
    throw thrown;
  }
}

/** Two clocks tell it. */
function expectAbout(
  one: number | null | undefined,
  other: number | null | undefined,
  margin: number,
): void {
  if (typeof one !== "number" || typeof other !== "number") expect(one).toBe(other);
  else expect(Math.abs(one - other)).toBeLessThanOrEqual(margin);
}
