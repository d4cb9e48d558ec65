import { tmpdir } from "node:os";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { latencyHours, usageSlots } from "../../../src/db/tables/usage.ts";
import { createQuarantine } from "../../../src/usage/journal/quarantine.ts";
import { storeRecords } from "../../../src/usage/journal/store-records.ts";
import { readDayFigures } from "../../../src/usage/reports/day-figures.ts";
import { createModelFigures } from "../../../src/usage/reports/model-figures.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { silentLog, usageRecord } from "../../support/stages/usage/usage-journal.ts";

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
});

const read = () => readDayFigures(database.db, NOW);
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
      requests: NOTHING,
      errors: NOTHING,
      rateLimited: NOTHING,
      inputTokens: NOTHING,
      outputTokens: NOTHING,
      latency: { quantiles: { "0.5": 0, "0.95": 0, "0.99": 0 }, sumMs: 0, count: 0 },
    });
  });

  it("a day is every ten minutes that touch the last 24 hours, by channel", async () => {
    await slot("2027-03-01T11:50:00Z", "chat", 1_000);
    await slot("2027-03-01T12:00:00Z", "chat", 100);
    await slot("2027-03-02T12:00:00Z", "chat", 10);
    await slot("2027-03-02T09:00:00Z", "mcp", 1);
    expect(await read()).toMatchObject({
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

  it("the last hours has nothing from when the clock was ahead", async () => {
    await slot("2027-03-02T12:00:00Z", "chat", 10);
    await slot("2027-03-02T12:10:00Z", "chat", 1_000);
    await latencies("2027-03-02T12:00:00Z", 231, 1, 101);
    await latencies("2031-03-02T12:00:00Z", 500, 9, 9_000);
    expect(await read()).toMatchObject({
      requests: { ...NOTHING, chat: 10 },
      latency: { count: 1, sumMs: 101 },
    });
    const times = [NOW - 60_000, Date.parse("2031-03-02T12:00:00Z")];
    await storeRecords(
      { db: database.db, quarantine: createQuarantine(tmpdir(), silentLog) },
      times.map((startedAt) =>
        JSON.stringify(usageRecord(`at_${startedAt}`, { startedAt, model: "m" })),
      ),
      { journal: "x", segment: 1, byteOffset: 1 },
    );
    const readModels = createModelFigures({ database, clock: { now: () => NOW } });
    const { figures } = await readModels(24);
    expect(figures).toMatchObject([{ model: "m", requests: 1, sampled: 1 }]);
  });
});
