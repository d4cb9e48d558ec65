import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeyLimits, NO_LIMITS } from "../../../src/core/callers/caller.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import type { ClientCall } from "../../../src/gateway/gateway.ts";
import { meterEmbedding } from "../../../src/gateway/meter/meter-embedding.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import type { Limits } from "../../../src/limits/limits.ts";
import { openMemoryLimits } from "../../../src/limits/memory-limits.ts";
import { openRedisLimits } from "../../../src/limits/redis/redis-limits.ts";
import type { UsageEntry } from "../../../src/usage/usage-record.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { startRedisServer } from "../../support/servers/redis-server.ts";
import { silentLog } from "../../support/stages/usage/usage-journal.ts";

const server = await startRedisServer();
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(async () => {
  await database.close();
  await server?.remove();
});

const ENTRY: UsageEntry = {
  recordStart: () => undefined,
  progress: () => undefined,
  close: () => undefined,
};

const common = () => ({
  database,
  clock: systemClock,
  log: silentLog,
  callTimeoutMs: 600_000,
  waitMs: 2_000,
  observer: { onMonthUse: () => undefined, onMonthlyRefusal: () => undefined },
});
const openInMemory = () => openMemoryLimits({ ...common(), monotonic: () => performance.now() });
const openInRedis = (url: string) =>
  openRedisLimits({ ...common(), url, installation: randomBase62(8) });

/** A gateway whose journal refuses while told to, and a caller of it. */
function openStage(limits: Limits, keyLimits: Partial<KeyLimits>, ownerLimits?: KeyLimits) {
  const journal = { isRefusing: true };
  const gateway = {
    journal: {
      async open() {
        if (journal.isRefusing) throw new ServiceError("storage_unavailable", "No room.");
        return ENTRY;
      },
    },
    clock: systemClock,
    limits,
  };
  const caller = {
    kind: "key",
    keyId: `key_${randomBase62(22)}`,
    ownerId: `usr_${randomBase62(22)}`,
    role: "user",
    assistantId: null,
    passthrough: false,
    maxLevel: "read_only",
    toolScope: { tools: [], sql_connections: [] },
    limits: { ...NO_LIMITS, ...keyLimits },
    personLimits: ownerLimits,
    isRestricted: true,
  } as const;
  const search = async () => {
    const call: ClientCall = {
      requestId: `req_${randomBase62(22)}`,
      caller,
      channel: "embeddings",
      startedAt: systemClock.now(),
      signal: new AbortController().signal,
    };
    const asked = { model: "m", inputs: ["what"] };
    return (await meterEmbedding(gateway, call, asked, async () => "found")).result;
  };
  return { journal, caller, search };
}

const WAYS: readonly [string, () => Promise<Limits>][] = [
  ["in memory", openInMemory],
  ...(server === undefined
    ? []
    : ([["in Redis", () => openInRedis(server.url)]] as [string, () => Promise<Limits>][])),
];

describe.each(WAYS)("a call that cannot be recorded, with limits %s,", (_, openLimits) => {
  let limits: Limits;
  beforeAll(async () => {
    limits = await openLimits();
    limits.start(Promise.resolve());
  });
  afterAll(() => limits.close());

  it("counts towards no limit of its key", async () => {
    const bounds = { requests: 1, requestsPerMinute: 1, tokens: 1_000 };
    const { journal, caller, search } = openStage(limits, bounds);
    for (let call = 0; call < 2; call += 1) {
      await expect(search()).rejects.toMatchObject({ code: "storage_unavailable" });
    }
    expect(await limits.read(caller.keyId, caller.limits, systemClock.now())).toMatchObject({
      requests: { used: 0, remaining: 1 },
      requestsPerMinute: { used: 0 },
      tokens: { used: 0, reserved: 0 },
    });
    journal.isRefusing = false;
    expect(await search()).toBe("found");
    await expect(search()).rejects.toMatchObject({ status: 429 });
  });

  it("counts towards no limit of the key's owner", async () => {
    const owners = { ...NO_LIMITS, requestsPerMinute: 1, monthlyTokens: 1_000 };
    const { journal, search } = openStage(limits, {}, owners);
    for (let call = 0; call < 2; call += 1) {
      await expect(search()).rejects.toMatchObject({ code: "storage_unavailable" });
    }
    journal.isRefusing = false;
    expect(await search()).toBe("found");
    await expect(search()).rejects.toMatchObject({ code: "rate_limit_exceeded" });
  });
});
