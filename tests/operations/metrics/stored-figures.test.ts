import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createApiKey, newApiKeyText } from "../../../src/access/keys/create-api-key.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { apiKeys } from "../../../src/db/tables/api-keys.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { latencyHours, usageSlots } from "../../../src/db/tables/usage.ts";
import { users } from "../../../src/db/tables/users.ts";
import { readStoredFigures } from "../../../src/operations/metrics/stored-figures.ts";
import { openTestDatabase } from "../../support/servers/test-database.ts";
import { hashApiKey } from "../../support/stages/test-keys.ts";

const NOW = Date.parse("2027-03-02T12:05:00Z");
const NOTHING = { chat: 0, messages: 0, responses: 0, embeddings: 0, audio: 0, mcp: 0 };

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.db.delete(usageSlots);
  await database.db.delete(latencyHours);
  await database.db.delete(outboxEvents);
});

const read = () => readStoredFigures(database.db, [], NOW);
const slot = (at: string, channel: "chat" | "mcp", requests: number) =>
  database.db.insert(usageSlots).values({
    slot: new Date(at),
    channel,
    requests,
    errors: 2,
    rateLimited: 3,
    inputTokens: 5_000_000_000,
    outputTokens: 7,
  });
const latencies = (at: string, bucket: number, requests: number, latencyMs: number) =>
  database.db.insert(latencyHours).values({ hour: new Date(at), bucket, requests, latencyMs });

describe("what the database tells of", () => {
  it("an empty gateway is 0 under every label", async () => {
    expect(await read()).toEqual({
      day: {
        requests: NOTHING,
        errors: NOTHING,
        rateLimited: NOTHING,
        inputTokens: NOTHING,
        outputTokens: NOTHING,
      },
      latency: { quantiles: { "0.5": 0, "0.95": 0, "0.99": 0 }, sumMs: 0, count: 0 },
      apiKeys: { active: 0, inactive: 0 },
      outbox: { pending: 0, oldestAgeSeconds: 0, dead: 0 },
      parts: {
        connections: { postgres: 0, mysql: 0, mssql: 0, sqlite: 0 },
        toolServers: { connected: 0, disabled: 0, error: 0 },
        runs: { queued: 0, running: 0, completed: 0, failed: 0, stopped: 0 },
        oldestQueuedRunAgeSeconds: 0,
        staleRuns: 0,
      },
    });
  });

  it("a day is every ten minutes that touch the last 24 hours, by channel", async () => {
    await slot("2027-03-01T11:50:00Z", "chat", 1_000);
    await slot("2027-03-01T12:00:00Z", "chat", 100);
    await slot("2027-03-02T12:00:00Z", "chat", 10);
    await slot("2027-03-02T09:00:00Z", "mcp", 1);
    const { day } = await read();
    expect(day).toEqual({
      requests: { ...NOTHING, chat: 110, mcp: 1 },
      errors: { ...NOTHING, chat: 4, mcp: 2 },
      rateLimited: { ...NOTHING, chat: 6, mcp: 3 },
      inputTokens: { ...NOTHING, chat: 10_000_000_000, mcp: 5_000_000_000 },
      outputTokens: { ...NOTHING, chat: 14, mcp: 7 },
    });
  });

  it("latencies is every hour that touches the last 24", async () => {
    await latencies("2027-03-01T11:00:00Z", 500, 1_000, 22_000_000);
    await latencies("2027-03-01T12:00:00Z", 231, 98, 9_800);
    await latencies("2027-03-02T12:00:00Z", 231, 1, 101);
    await latencies("2027-03-02T12:00:00Z", 460, 1, 9_900);
    const { latency } = await read();
    expect(latency.count).toBe(100);
    expect(latency.sumMs).toBe(9_800 + 101 + 9_900);
    expect(latency.quantiles["0.5"]).toBeCloseTo(9_901 / 99, 6);
    expect(latency.quantiles["0.99"]).toBeCloseTo(9_901 / 99, 6);
  });

  it("keys by their state, and the outbox", async () => {
    await database.db.insert(users).values({ id: "usr_1", username: "admin", role: "admin" });
    for (const name of ["one", "two", "three"]) {
      await withTransaction(database.db, (transaction) =>
        createApiKey(transaction, { name, ownerId: "usr_1", text: newApiKeyText() }, hashApiKey),
      );
    }
    await database.db.update(apiKeys).set({ state: "inactive" }).where(eq(apiKeys.name, "two"));
    await database.db.insert(outboxEvents).values({
      id: "evt_1",
      sink: "internal",
      kind: "a.kind",
      body: {},
      createdAt: new Date(NOW - 61_500),
    });
    const { apiKeys: keys, outbox } = await read();
    expect(keys).toEqual({ active: 2, inactive: 1 });
    expect(outbox).toEqual({ pending: 1, oldestAgeSeconds: 61.5, dead: 0 });
  });

  it("parts that tell of themselves, beside zeros for those that do not", async () => {
    const connections = { postgres: 3, mysql: 0, mssql: 1, sqlite: 0 };
    const { parts } = await readStoredFigures(
      database.db,
      [
        async () => ({ connections }),
        async (db, now) => {
          expect(now).toBe(NOW);
          const [row] = await db.execute<{ two: number }>("select 2 as two");
          return { staleRuns: row?.two ?? 0, oldestQueuedRunAgeSeconds: 30 };
        },
      ],
      NOW,
    );
    expect(parts).toEqual({
      connections,
      toolServers: { connected: 0, disabled: 0, error: 0 },
      runs: { queued: 0, running: 0, completed: 0, failed: 0, stopped: 0 },
      oldestQueuedRunAgeSeconds: 30,
      staleRuns: 2,
    });
  });
});
