import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { KeyLimits } from "../../../src/core/callers/caller.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import { usageMonths, usageRecords } from "../../../src/db/tables/usage.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { Admission, LimitedCall, Limits } from "../../../src/limits/limits.ts";
import { openRedisLimits } from "../../../src/limits/redis/redis-limits.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { startRedisServer } from "../../support/servers/redis-server.ts";

const UNLIMITED: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};
const CALL_TIMEOUT_MS = 600_000;
const GRACE_MS = 60_000;

const server = await startRedisServer();
afterAll(() => server?.remove());

describe.runIf(server !== undefined)("limits that several replicas share", () => {
  const redisServer = server as NonNullable<typeof server>;
  let database: Database;
  let client: Redis;
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const replicas: Limits[] = [];
  const monthUses: [string, number, number][] = [];
  const monthlyRefusals: [string, number, number][] = [];

  beforeAll(async () => {
    database = await openTestDatabase();
    client = new Redis(redisServer.url, { retryStrategy: () => 50 });
    client.on("error", () => undefined);
  });
  afterAll(async () => {
    client.disconnect();
    await database.close();
  });
  afterEach(async () => {
    aheadMs = 0;
    await Promise.all(replicas.splice(0).map((limits) => limits.close()));
  });

  const lines: string[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(line) });
  const openReplica = async (
    installation = "of the tests",
    url = redisServer.url,
    source: Pick<Database, "askOwn"> = database,
  ): Promise<Limits> => {
    const limits = await openRedisLimits({
      url,
      database: source,
      clock,
      log,
      callTimeoutMs: CALL_TIMEOUT_MS,
      waitMs: 2_000,
      installation,
      observer: {
        onMonthUse: (...use) => void monthUses.push(use),
        onMonthlyRefusal: (...use) => void monthlyRefusals.push(use),
      },
    });
    limits.start(Promise.resolve());
    replicas.push(limits);
    return limits;
  };
  const openReplicas = (count: number) =>
    Promise.all(Array.from({ length: count }, () => openReplica()));

  /** A key of its own, and what its calls ask. */
  const newKey = (limits: Partial<KeyLimits>) => {
    const keyId = `key_${randomBase62(22)}`;
    const all = { ...UNLIMITED, ...limits };
    return {
      keyId,
      limits: all,
      call: (more: Partial<LimitedCall> = {}): LimitedCall => ({
        id: randomBase62(22),
        keyId,
        limits: all,
        startedAt: clock.now(),
        inputTokens: 0,
        outputTokens: 0,
        ...more,
      }),
    };
  };
  const month = () => new Date(clock.now()).toISOString().slice(0, 7);
  const store = async (keyId: string, requests: number, tokens: number) => {
    await database.db
      .insert(usageMonths)
      .values({ keyId, month: `${month()}-01`, requests, tokens })
      .onConflictDoUpdate({
        target: [usageMonths.keyId, usageMonths.month],
        set: {
          requests: sql`${usageMonths.requests} + ${requests}`,
          tokens: sql`${usageMonths.tokens} + ${tokens}`,
        },
      });
  };
  /** @param extraCharge how many of the tokens are beyond input and output. */
  const storeRow = async (id: string, keyId: string, tokens: number, extraCharge = 0) => {
    await database.db.insert(usageRecords).values({
      id,
      startedAt: new Date(),
      keyId,
      channel: "chat",
      model: "m",
      outcome: "error",
      success: false,
      status: 0,
      inputTokens: tokens - extraCharge,
      outputTokens: 0,
      cachedTokens: 0,
      reasoningTokens: 0,
      extraCharge,
      estimated: true,
      latencyMs: 1,
    });
    await store(keyId, 1, tokens);
  };
  /** Admits calls all at once, over the replicas in turn. */
  const admitAll = async (limits: readonly Limits[], calls: readonly LimitedCall[]) => {
    const results = await Promise.allSettled(
      calls.map(async (call, index) => limits[index % limits.length]?.admit(call)),
    );
    const admissions = results.flatMap((result) =>
      result.status === "fulfilled" && result.value !== undefined ? [result.value] : [],
    );
    const errors = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as ServiceError] : [],
    );
    return { admissions, errors };
  };
  const codeOf = (admitting: Admission | Promise<Admission>) =>
    Promise.resolve(admitting).then(
      () => "admitted",
      (thrown: unknown) => (thrown instanceof ServiceError ? thrown.code : String(thrown)),
    );
  const eventually = (holds: () => boolean | Promise<boolean>) =>
    expect.poll(holds, { timeout: 10_000, interval: 20 }).toBe(true);

  it("counts a call that only counts tokens in its key's minute over all replicas, and in no other limit", async () => {
    const [one, two] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ requestsPerMinute: 3, requests: 5, tokens: 100 });
    const count = (limits: Limits) => limits.countInMinute({ ...key.call(), isLarge: false });
    for (const limits of [one, two, one]) await count(limits);
    await expect(count(two)).rejects.toMatchObject({ code: "rate_limit_exceeded", status: 429 });
    expect(await codeOf(one.admit(key.call()))).toBe("rate_limit_exceeded");
    const { requestsPerMinute, requests, tokens } = await two.read(
      key.keyId,
      key.limits,
      clock.now(),
    );
    expect(requestsPerMinute).toMatchObject({ used: 3, remaining: 0 });
    expect(requests).toMatchObject({ used: 0, reserved: 0, remaining: 5 });
    expect(tokens).toMatchObject({ used: 0, reserved: 0, remaining: 100 });
  });

  it("admits exactly so many of 500 calls at once as each limit has, over three replicas", async () => {
    const three = await openReplicas(3);
    for (const limits of [{ requestsPerMinute: 60 }, { requests: 60 }, { tokens: 60 * 7 + 6 }]) {
      const key = newKey(limits);
      const calls = Array.from({ length: 500 }, () =>
        key.call("tokens" in limits ? { inputTokens: 7 } : {}),
      );
      const { admissions, errors } = await admitAll(three, calls);
      expect(admissions).toHaveLength(60);
      expect(errors.every(({ status }) => status === 429)).toBe(true);
      if ("requestsPerMinute" in limits) {
        const waits = errors.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds);
        expect(Math.min(...waits)).toBeGreaterThanOrEqual(59);
        expect(Math.max(...waits)).toBeLessThanOrEqual(60);
      }
    }
  });

  it("grants the answer what remains beside the prompt, and never more than the limit over all", async () => {
    const [one, other] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ monthlyTokens: 1_000 });
    expect(await one.admit(key.call({ inputTokens: 100, outputTokens: 500 }))).toMatchObject({
      outputTokens: 500,
      status: { tokens: { limit: 1_000, remaining: 400 } },
    });
    expect(await other.admit(key.call({ inputTokens: 100, outputTokens: 500 }))).toMatchObject({
      outputTokens: 300,
      status: { tokens: { limit: 1_000, remaining: 0 } },
    });
    expect(await codeOf(one.admit(key.call({ inputTokens: 0, outputTokens: 1 })))).toBe(
      "monthly_limit_exceeded",
    );
    const unlimited = newKey({ requests: 5 });
    expect((await one.admit(unlimited.call({ outputTokens: 9 }))).outputTokens).toBeUndefined();
  });

  it("gives back what a call did not use, and books what it did, once", async () => {
    const [one, other] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ tokens: 1_000, requests: 10 });
    const admission = await one.admit(key.call({ inputTokens: 100, outputTokens: 900 }));
    expect(await other.read(key.keyId, key.limits, clock.now())).toMatchObject({
      tokens: { used: 0, reserved: 1_000, remaining: 0 },
      requests: { used: 1, remaining: 9 },
    });
    admission.settle(250);
    admission.settle(250);
    await eventually(async () => {
      const { tokens } = await other.read(key.keyId, key.limits, clock.now());
      return tokens?.reserved === 0;
    });
    expect(await other.read(key.keyId, key.limits, clock.now())).toEqual({
      tokens: { limit: 1_000, used: 250, reserved: 0, remaining: 750, resetsAt: null },
      requests: { limit: 10, used: 1, reserved: 0, remaining: 9, resetsAt: null },
    });
    await eventually(async () => (await client.keys(`*{${key.keyId}}*`)).length === 1);
  });

  it("lets a call in again as soon as one has left the 60 seconds, and not before", async () => {
    const [one, other] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ requestsPerMinute: 3 });
    await one.admit(key.call());
    aheadMs = 30_000;
    await other.admit(key.call());
    await one.admit(key.call());
    const refused = await Promise.resolve(other.admit(key.call())).catch((error) => error);
    expect(refused).toMatchObject({ code: "rate_limit_exceeded", retryAfterSeconds: 30 });
    aheadMs = 59_000;
    expect(await codeOf(one.admit(key.call()))).toBe("rate_limit_exceeded");
    aheadMs = 60_500;
    expect(await codeOf(one.admit(key.call()))).toBe("admitted");
    expect(await codeOf(other.admit(key.call()))).toBe("rate_limit_exceeded");
    // A clock that is set back far locks nobody out.
    aheadMs = -3_600_000;
    expect(await codeOf(one.admit(key.call()))).toBe("admitted");
  });

  it("begins with what the database has, whichever replicas ask first", async () => {
    const three = await openReplicas(3);
    const key = newKey({ monthlyTokens: 1_000, requests: 20 });
    await store(key.keyId, 10, 940);
    const calls = Array.from({ length: 60 }, () => key.call({ inputTokens: 10 }));
    const { admissions, errors } = await admitAll(three, calls);
    expect(admissions).toHaveLength(6);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["monthly_limit_exceeded"]));
  });

  it("counts calls from before a limit was set", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ tokens: 1_000 });
    (await one.admit(key.call({ inputTokens: 10 }))).settle(10);
    // Without limits for a while: its calls come by no counter but the journal's.
    await store(key.keyId, 3, 995);
    one.book(key.keyId, clock.now(), 0);
    const changed = { ...key.limits, tokens: 1_000 };
    expect(await codeOf(one.admit(key.call({ inputTokens: 10, limits: changed })))).toBe(
      "token_limit_exceeded",
    );
  });

  it("lets a call go on without a word from the database when somebody has read the key's use", async () => {
    const asked: string[] = [];
    const counting: Pick<Database, "askOwn"> = {
      askOwn: (work) => {
        asked.push("the database");
        return database.askOwn(work);
      },
    };
    const one = await openReplica("of the tests", redisServer.url, counting);
    const key = newKey({ requests: 10 });
    await one.admit(key.call());
    await one.read(key.keyId, { ...key.limits }, clock.now());
    asked.length = 0;
    await one.admit(key.call());
    expect(asked).toEqual([]);
  });

  it("takes what a call held back when its time is over", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ tokens: 100 });
    const lost = await one.admit(key.call({ inputTokens: 100 }));
    aheadMs = CALL_TIMEOUT_MS + GRACE_MS - 1_000;
    expect(await codeOf(one.admit(key.call({ inputTokens: 1 })))).toBe("token_limit_exceeded");
    aheadMs = CALL_TIMEOUT_MS + GRACE_MS + 1_000;
    expect(await codeOf(one.admit(key.call({ inputTokens: 100 })))).toBe("admitted");
    lost.settle(40);
    await sleep(100);
    // Its row brings what it used.
    expect(await one.read(key.keyId, key.limits, clock.now())).toMatchObject({
      tokens: { used: 0, reserved: 100 },
    });
  });

  it("settles the calls of a lost process once, when their rows are stored", async () => {
    const [dead, heir] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ tokens: 1_000 });
    const call = key.call({ inputTokens: 600 });
    await dead.admit(call);
    await heir.admit(key.call({ inputTokens: 100 }));
    const lost = { id: call.id, keyId: key.keyId, startedAt: call.startedAt, tokens: 50 };
    await heir.settleLost([lost], () => storeRow(call.id, key.keyId, 50));
    await heir.settleLost([lost], () => Promise.resolve());
    await eventually(async () => {
      const { tokens } = await heir.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 50 && tokens.reserved === 100;
    });
    expect(await heir.read(key.keyId, key.limits, clock.now())).toMatchObject({
      tokens: { used: 50, reserved: 100, remaining: 850 },
    });
  });

  it("finds the rows of calls whose end was never told, with what was charged beyond their tokens", async () => {
    const [dead, other, heir] = (await openReplicas(3)) as [Limits, Limits, Limits];
    const key = newKey({ tokens: 1_000 });
    const call = key.call({ inputTokens: 600 });
    await dead.admit(call);
    // Its row is still in a journal, so Redis has counted more than the database.
    (await other.admit(key.call({ inputTokens: 100 }))).settle(100);
    await eventually(async () => {
      const { tokens } = await other.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 100;
    });
    await storeRow(call.id, key.keyId, 50, 20);
    expect(await heir.admit(key.call({ inputTokens: 100 }))).toMatchObject({
      status: { tokens: { remaining: 750 } },
    });
  });

  it("makes the counters anew when Redis has lost them, calls under way and all, and counts each once", async () => {
    const [one, other] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ tokens: 1_000 });
    await store(key.keyId, 1, 100);
    const mine = await one.admit(key.call({ inputTokens: 300 }));
    const theirs = await other.admit(key.call({ inputTokens: 200 }));
    await client.flushall();
    // The first to come brings the sums and its own; the other one notices with its next call.
    await one.admit(key.call({ inputTokens: 1 }));
    await other.admit(key.call({ inputTokens: 1 }));
    await eventually(async () => {
      const { tokens } = await one.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 100 && tokens.reserved === 502;
    });
    mine.settle(30);
    theirs.settle(20);
    await eventually(async () => {
      const { tokens } = await one.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 150 && tokens.reserved === 2;
    });
  });

  it("tells what a month's settled use is, and of refusals that only a month's end lifts", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ monthlyTokens: 100 });
    await store(key.keyId, 1, 20);
    const admission = await one.admit(key.call({ inputTokens: 80 }));
    expect(await codeOf(one.admit(key.call({ inputTokens: 1 })))).toBe("monthly_limit_exceeded");
    const mine = (told: typeof monthUses) => told.filter(([keyId]) => keyId === key.keyId);
    expect(mine(monthlyRefusals)).toEqual([]);
    admission.settle(80);
    await eventually(() => mine(monthUses).length === 1);
    expect(mine(monthUses)).toEqual([[key.keyId, 100, 100]]);
    expect(await codeOf(one.admit(key.call({ inputTokens: 1 })))).toBe("monthly_limit_exceeded");
    expect(mine(monthlyRefusals)).toEqual([[key.keyId, 100, 100]]);
  });

  it("keeps two installations on one Redis apart", async () => {
    const one = await openReplica("one");
    const other = await openReplica("other");
    const key = newKey({ requests: 1 });
    expect(await codeOf(one.admit(key.call()))).toBe("admitted");
    expect(await codeOf(other.admit(key.call()))).toBe("admitted");
    expect(await codeOf(one.admit(key.call()))).toBe("request_limit_exceeded");
  });

  it("admits as many of a burst as the limit says", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ requests: 150 });
    const calls = Array.from({ length: 200 }, () => key.call());
    const { admissions, errors } = await admitAll([one], calls);
    expect(admissions).toHaveLength(150);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["request_limit_exceeded"]));
  });

  it("refuses at once while Redis is away, is back by itself, and sends what ended meanwhile", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ tokens: 1_000 });
    const admission = await one.admit(key.call({ inputTokens: 100 }));
    lines.length = 0;
    redisServer.freeze();
    const startedAt = performance.now();
    const refused = await Promise.resolve(one.admit(key.call({ inputTokens: 5 }))).catch(
      (error) => error,
    );
    expect(refused).toMatchObject({ code: "storage_unavailable", retryAfterSeconds: 1 });
    // Each that waited would wait for a second or more.
    for (let again = 0; again < 20; again += 1)
      expect(await codeOf(one.admit(key.call()))).toBe("storage_unavailable");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    admission.settle(10);
    await sleep(300);
    redisServer.thaw();
    await eventually(async () => (await codeOf(one.admit(key.call()))) === "admitted");
    // What hung was refused to its caller, so it holds nothing; what ended is booked.
    await eventually(async () => {
      const { tokens } = await one.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 10 && tokens.reserved === 0;
    });
    const told = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(told).toEqual([
      "Redis at REDIS_URL is unreachable: keys with limits are refused, others are not affected",
      "Redis is reachable again; keys with limits are accepted",
    ]);
  });

  it("admits no call by the counters of a Redis that came back as it was long ago", async () => {
    const [one] = (await openReplicas(1)) as [Limits];
    const key = newKey({ tokens: 100 });
    await one.read(key.keyId, key.limits, clock.now());
    const names = await client.keys(`*{${key.keyId}}*`);
    const copies = await Promise.all(names.map((name) => client.dumpBuffer(name)));
    const admission = await one.admit(key.call({ inputTokens: 90 }));
    admission.settle(90);
    await store(key.keyId, 1, 90);
    await eventually(async () => {
      const { tokens } = await one.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 90 && tokens.reserved === 0;
    });
    await client.del(await client.keys(`*{${key.keyId}}*`));
    for (const [index, name] of names.entries()) {
      await client.restore(name, 0, copies[index] as Buffer, "REPLACE");
    }
    const connections = () => client.client("LIST") as Promise<string>;
    const idOf = (list: string) => /id=(\d+) .*cmd=(?!client)/.exec(list)?.[1];
    const before = idOf(await connections());
    await client.client("KILL", "TYPE", "normal", "SKIPME", "yes");
    await eventually(async () => {
      const now = idOf(await connections());
      return now !== undefined && now !== before;
    });
    const codes: string[] = [];
    await eventually(async () => {
      codes.push(await codeOf(one.admit(key.call({ inputTokens: 90 }))));
      return codes.at(-1) === "token_limit_exceeded";
    });
    expect(codes).not.toContain("admitted");
  });

  it("goes on exactly with a Redis that was killed and starts empty", async () => {
    const three = await openReplicas(3);
    const key = newKey({ requests: 10, tokens: 10_000 });
    const before = await admitAll(
      three,
      Array.from({ length: 4 }, () => key.call()),
    );
    expect(before.admissions).toHaveLength(4);
    await redisServer.kill();
    expect(await codeOf(three[0]?.admit(key.call()) as Promise<Admission>)).toBe(
      "storage_unavailable",
    );
    await redisServer.start();
    await eventually(async () => {
      const codes = await Promise.all(
        three.map((limits) =>
          codeOf(Promise.resolve(limits.read(key.keyId, key.limits, clock.now())) as never),
        ),
      );
      return codes.every((code) => code === "admitted");
    });
    await eventually(async () => {
      const report = await three[1]?.read(key.keyId, key.limits, clock.now());
      return report?.requests?.used === 4;
    });
    const after = await admitAll(
      three,
      Array.from({ length: 30 }, () => key.call()),
    );
    expect(after.admissions).toHaveLength(6);
  });

  it("keeps the month of all replicas when the clock of one leaps two months ahead", async () => {
    const [one, leaping] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ monthlyTokens: 1_000 });
    const admission = await one.admit(key.call({ inputTokens: 950 }));
    admission.settle(950);
    const leap = async () => {
      aheadMs = 62 * 24 * 60 * 60_000;
      await leaping.read(key.keyId, key.limits, clock.now());
      aheadMs = 0;
    };
    await eventually(async () => {
      const report = await one.read(key.keyId, key.limits, clock.now());
      return report.monthlyTokens?.used === 950;
    });
    await leap();
    expect(await codeOf(one.admit(key.call({ inputTokens: 100 })))).toBe("monthly_limit_exceeded");
    // Nor does it when it is the first to load a key that Redis has lost.
    await store(key.keyId, 1, 950);
    await client.flushall();
    await leap();
    expect(await codeOf(one.admit(key.call({ inputTokens: 100 })))).toBe("monthly_limit_exceeded");
  });

  it("admits nothing beside a stream of another replica where a key is new, on a Redis that starts empty", async () => {
    const [one, fresh] = (await openReplicas(2)) as [Limits, Limits];
    const key = newKey({ tokens: 1_000 });
    const stream = await one.admit(key.call({ inputTokens: 950 }));
    await redisServer.kill();
    const call = () => codeOf(fresh.admit(key.call({ inputTokens: 100 })));
    await eventually(async () => (await call()) === "storage_unavailable");
    await redisServer.start();
    const codes: string[] = [];
    await eventually(async () => {
      codes.push(await call());
      return codes.at(-1) !== "storage_unavailable";
    });
    expect(codes.at(-1)).toBe("token_limit_exceeded");
    stream.settle(950);
    await eventually(async () => {
      const { tokens } = await one.read(key.keyId, key.limits, clock.now());
      return tokens?.used === 950 && tokens.reserved === 0;
    });
    expect(await call()).toBe("token_limit_exceeded");
  });

  it("add tokens to calls on all replicas, and never more than remain", async () => {
    const [one, other] = await openReplicas(2);
    const { keyId, limits, call } = newKey({ monthlyTokens: 10_000 });
    const { admissions } = await admitAll(
      [one as Limits, other as Limits],
      Array.from({ length: 10 }, () => call({ inputTokens: 100 })),
    );
    expect(admissions).toHaveLength(10);
    const granted = await Promise.all(
      admissions.flatMap((admission) => [admission.extend(700, 0), admission.extend(700, 0)]),
    );
    expect(granted.reduce((sum: number, tokens) => sum + tokens, 0)).toBe(9_000);
    await expect(admissions[0]?.extend(1, 1)).rejects.toMatchObject({
      code: "monthly_limit_exceeded",
    });
    for (const admission of admissions) admission.settle(50);
    await expect
      .poll(async () => (await one?.read(keyId, limits, clock.now()))?.monthlyTokens)
      .toMatchObject({ used: 500, reserved: 0 });
  });

  it("add tokens to a call that Redis has lost", async () => {
    const [replica] = await openReplicas(1);
    const { keyId, limits, call } = newKey({ tokens: 1_000 });
    const admission = await replica?.admit(call({ inputTokens: 300 }));
    await client.flushall();
    expect(await admission?.extend(200, 200)).toBe(200);
    expect((await replica?.read(keyId, limits, clock.now()))?.tokens).toMatchObject({
      reserved: 500,
    });
    admission?.settle(0);
    await expect
      .poll(async () => (await replica?.read(keyId, limits, clock.now()))?.tokens)
      .toMatchObject({ used: 0, reserved: 0 });
  });
});
