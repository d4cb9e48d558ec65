import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Db, withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createQuarantine } from "../../../src/usage/journal/quarantine.ts";
import { storeRecords } from "../../../src/usage/journal/store-records.ts";
import { insertUsage } from "../../../src/usage/journal/usage-store.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";
import {
  openEmptyDatabase,
  openTestDatabase,
} from "../../support/servers/databases/test-database.ts";
import {
  countRows,
  journalRoot,
  silentLog,
  usageRecord,
} from "../../support/stages/usage/usage-journal.ts";

/** 2026-09-21T13:33:20Z. */
const STARTED_AT = 1_789_997_600_000;
const CHECKPOINT = { journal: "test", segment: 1, byteOffset: 1 };

function json(id: string, change: Partial<UsageRecord> = {}): string {
  return JSON.stringify(usageRecord(id, { model: "qwen3", startedAt: STARTED_AT, ...change }));
}

const insert = (db: Db, ...records: string[]) => insertUsage(db, records, CHECKPOINT);

const STORED_HOURS = sql`usage_hours`;
const STORED_MODELS = sql`model_hours`;
const STORED_MONTHS = sql`usage_months`;
const STORED_SLOTS = sql`usage_slots`;
const STORED_LATENCIES = sql`latency_hours`;
/** The same, counted from the rows. */
const COUNTED_HOURS = sql`(
  select date_trunc('hour', started_at, 'UTC') as hour, key_id, model, channel, count(*) as requests,
    count(*) filter (where outcome in ('error', 'rate_limited')) as failures,
    count(*) filter (where outcome = 'rate_limited') as rate_limited,
    count(*) filter (where outcome = 'aborted') as aborted, sum(latency_ms) as latency_ms,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cached_tokens) as cached_tokens,
    sum(reasoning_tokens) as reasoning_tokens, sum(extra_charge) as extra_charge
  from usage_records group by 1, 2, 3, 4) as counted`;
const COUNTED_MODELS = sql`(
  select date_trunc('hour', started_at, 'UTC') as hour, model, channel, count(*) as requests,
    count(*) filter (where outcome in ('error', 'rate_limited')) as failures,
    count(*) filter (where outcome = 'rate_limited') as rate_limited,
    count(*) filter (where outcome = 'aborted') as aborted, sum(latency_ms) as latency_ms,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cached_tokens) as cached_tokens,
    sum(reasoning_tokens) as reasoning_tokens
  from usage_records group by 1, 2, 3) as counted`;
const COUNTED_MONTHS = sql`(
  select key_id, date_trunc('month', started_at at time zone 'UTC')::date as month, count(*) as requests,
    sum(input_tokens + output_tokens + extra_charge) as tokens
  from usage_records group by 1, 2) as counted`;
const COUNTED_SLOTS = sql`(
  select to_timestamp(floor(extract(epoch from started_at) / 600) * 600) as slot, channel, count(*) as requests,
    count(*) filter (where outcome = 'error') as errors, count(*) filter (where outcome = 'rate_limited') as rate_limited,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
  from usage_records group by 1, 2) as counted`;
const COUNTED_LATENCIES = sql`(
  select date_trunc('hour', started_at, 'UTC') as hour, round(50 * ln(1 + latency_ms))::int as bucket,
    count(*) as requests, sum(latency_ms) as latency_ms
  from usage_records group by 1, 2) as counted`;

/** `hour key model channel requests failures limited aborted latency input output cached reasoning extra` of every hour. */
async function hours({ db }: Database, source = STORED_HOURS): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(
    sql`select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), key_id, model, channel,
        requests, failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens, cached_tokens,
        reasoning_tokens, extra_charge) as line
      from ${source}`,
  );
  return rows.map((row) => row.line).sort();
}

/** The same over all keys. */
async function models({ db }: Database, source = STORED_MODELS): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(
    sql`select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), model, channel, requests,
        failures, rate_limited, aborted, latency_ms, input_tokens, output_tokens, cached_tokens, reasoning_tokens) as line
      from ${source}`,
  );
  return rows.map((row) => row.line).sort();
}

/** `key month requests tokens` of every month. */
async function months({ db }: Database, source = STORED_MONTHS): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(
    sql`select concat_ws(' ', key_id, month, requests, tokens) as line from ${source}`,
  );
  return rows.map((row) => row.line).sort();
}

/** `slot channel requests errors limited input output` of every ten minutes. */
async function slots({ db }: Database, source = STORED_SLOTS): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(
    sql`select concat_ws(' ', to_char(slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), channel, requests, errors,
        rate_limited, input_tokens, output_tokens) as line
      from ${source}`,
  );
  return rows.map((row) => row.line).sort();
}

/** `hour bucket requests latency` of every bucket. */
async function latencies({ db }: Database, source = STORED_LATENCIES): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(
    sql`select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), bucket, requests, latency_ms)
        as line
      from ${source}`,
  );
  return rows.map((row) => row.line).sort();
}

async function expectExact(database: Database): Promise<void> {
  expect(await hours(database)).toEqual(await hours(database, COUNTED_HOURS));
  expect(await models(database)).toEqual(await models(database, COUNTED_MODELS));
  expect(await months(database)).toEqual(await months(database, COUNTED_MONTHS));
  expect(await slots(database)).toEqual(await slots(database, COUNTED_SLOTS));
  expect(await latencies(database)).toEqual(await latencies(database, COUNTED_LATENCIES));
}

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
afterEach(() =>
  database.db.execute(
    sql`truncate usage_records, usage_hours, model_hours, usage_months, usage_slots, latency_hours, journal_checkpoints`,
  ),
);

describe("usage by hour and by month", () => {
  it("sums each hour, key, model and channel, the same over all keys, and each key's months", async () => {
    await insert(database.db, json("a"), json("b", { inputTokens: 100, extraCharge: 5 }));
    await insert(
      database.db,
      json("c", { channel: "messages" }),
      json("d", { model: "llama" }),
      json("e", { keyId: "key_2" }),
      json("f", { startedAt: STARTED_AT + 3_600_000 }),
    );
    expect(await hours(database)).toEqual([
      "2026-09-21T13:00:00 key_1 llama chat 1 0 0 0 1234 7 11 3 2 0",
      "2026-09-21T13:00:00 key_1 qwen3 chat 2 0 0 0 2468 107 22 6 4 5",
      "2026-09-21T13:00:00 key_1 qwen3 messages 1 0 0 0 1234 7 11 3 2 0",
      "2026-09-21T13:00:00 key_2 qwen3 chat 1 0 0 0 1234 7 11 3 2 0",
      "2026-09-21T14:00:00 key_1 qwen3 chat 1 0 0 0 1234 7 11 3 2 0",
    ]);
    expect(await models(database)).toEqual([
      "2026-09-21T13:00:00 llama chat 1 0 0 0 1234 7 11 3 2",
      "2026-09-21T13:00:00 qwen3 chat 3 0 0 0 3702 114 33 9 6",
      "2026-09-21T13:00:00 qwen3 messages 1 0 0 0 1234 7 11 3 2",
      "2026-09-21T14:00:00 qwen3 chat 1 0 0 0 1234 7 11 3 2",
    ]);
    expect(await months(database)).toEqual(["key_1 2026-09-01 5 188", "key_2 2026-09-01 1 18"]);
  });

  it("count as failures what was not answered, and not what the client gave up", async () => {
    const outcomes = ["ok", "aborted", "error", "rate_limited"] as const;
    await insert(database.db, ...outcomes.map((outcome) => json(outcome, { outcome })));
    expect(await hours(database)).toEqual([
      "2026-09-21T13:00:00 key_1 qwen3 chat 4 2 1 1 4936 28 44 12 8 0",
    ]);
  });

  it("are kept by ten minutes and channel, and by length, for the figures of a day", async () => {
    const at = (text: string) => Date.parse(`2026-09-21T${text}Z`);
    await insert(
      database.db,
      json("a", { startedAt: at("13:09:59.999"), latencyMs: 0 }),
      json("b", { startedAt: at("13:10:00.000"), latencyMs: 1, outcome: "error" }),
      json("c", { startedAt: at("13:19:59.999"), latencyMs: 600_000, outcome: "rate_limited" }),
      json("d", { startedAt: at("13:19:59.999"), latencyMs: 600_000, channel: "audio" }),
      json("e", { startedAt: at("23:59:59.999"), latencyMs: 0.4, outcome: "aborted" }),
    );
    expect(await slots(database)).toEqual([
      "2026-09-21T13:00:00 chat 1 0 0 7 11",
      "2026-09-21T13:10:00 audio 1 0 0 7 11",
      "2026-09-21T13:10:00 chat 2 1 1 14 22",
      "2026-09-21T23:50:00 chat 1 0 0 7 11",
    ]);
    expect(await latencies(database)).toEqual([
      "2026-09-21T13:00:00 0 1 0",
      "2026-09-21T13:00:00 35 1 1",
      "2026-09-21T13:00:00 665 2 1200000",
      "2026-09-21T23:00:00 0 1 0",
    ]);
  });

  it("are the same however often a record is given", async () => {
    const records = [json("a"), json("b"), json("c", { keyId: "key_2" })];
    await insert(database.db, ...records);
    const once = [await hours(database), await months(database)];
    await insert(database.db, ...records);
    await expectExact(database);
    await insert(database.db, json("d", { keyId: "key_3" }), ...records.reverse());
    expect([await hours(database), await months(database)]).toEqual([
      [...(once[0] ?? []), "2026-09-21T13:00:00 key_3 qwen3 chat 1 0 0 0 1234 7 11 3 2 0"],
      [...(once[1] ?? []), "key_3 2026-09-01 1 18"],
    ]);
  });

  it("count a record once that comes twice in one batch", async () => {
    await insert(database.db, json("a"), json("b"), json("a", { outputTokens: 99 }));
    expect(await months(database)).toEqual(["key_1 2026-09-01 2 36"]);
    await expectExact(database);
  });

  it("begin and end in UTC, whatever the session's time zone", async () => {
    const at = (text: string) => ({ startedAt: Date.parse(text) });
    await withTransaction(database.db, async (transaction) => {
      await transaction.execute(sql`set local time zone 'Asia/Kathmandu'`);
      await insert(
        transaction,
        json("last", at("2026-01-31T23:59:59.999Z")),
        json("first", at("2026-02-01T00:00:00.000Z")),
        json("year", at("2025-12-31T23:59:59.999Z")),
      );
    });
    const lines = await hours(database);
    expect(lines.map((line) => line.slice(0, 19))).toEqual([
      "2025-12-31T23:00:00",
      "2026-01-31T23:00:00",
      "2026-02-01T00:00:00",
    ]);
    expect(await months(database)).toEqual([
      "key_1 2025-12-01 1 18",
      "key_1 2026-01-01 1 18",
      "key_1 2026-02-01 1 18",
    ]);
  });

  it("leave out a record that the database refuses, and have all others", async () => {
    const { root, remove } = journalRoot();
    const quarantine = createQuarantine(root, silentLog);
    const records = Array.from({ length: 20 }, (_, index) =>
      json(`call-${index}`, index === 13 ? { model: "nul \u0000" } : {}),
    );
    await storeRecords({ db: database.db, quarantine }, records, CHECKPOINT);
    expect(await months(database)).toEqual(["key_1 2026-09-01 19 342"]);
    await expectExact(database);
    remove();
  });

  it("add nothing when the checkpoint cannot be moved", async () => {
    await database.db.execute(sql`alter table journal_checkpoints rename to elsewhere`);
    await expect(insert(database.db, json("a"))).rejects.toThrow();
    await database.db.execute(sql`alter table elsewhere rename to journal_checkpoints`);
    expect([await hours(database), await models(database), await months(database)]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it("are exact when replicas add to the same keys at once, and the same records too", async () => {
    const batches = Array.from({ length: 40 }, (_, batch) => {
      const records = Array.from({ length: 100 }, (_, index) => {
        // Every tenth record is in the batch of a neighbour too.
        const id = index % 10 === 0 ? `shared-${batch >> 1}-${index}` : `${batch}-${index}`;
        const keyId = `key_${index % 20}`;
        return json(id, {
          keyId,
          model: `model-${index % 3}`,
          channel: index % 2 === 0 ? "chat" : "messages",
          startedAt: STARTED_AT + (index % 5) * 600_000,
          latencyMs: (index * 37) % 500,
        });
      });
      return batch % 2 === 0 ? records : records.reverse();
    });
    const stores = batches.map((records, index) =>
      insertUsage(database.db, records, { ...CHECKPOINT, segment: index }),
    );
    await Promise.all(stores);
    expect(await countRows(database)).toBe(40 * 90 + 20 * 10);
    await expectExact(database);
    const [total] = await database.db.execute<{ requests: number }>(
      sql`select sum(requests)::int as requests from usage_months`,
    );
    expect(total?.requests).toBe(3_800);
  });
});

describe("usage of before there were hours and months", () => {
  it("is summed by the migration, and a replay after it adds nothing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "migrations-"));
    cpSync(new URL("../../../drizzle", import.meta.url), folder, { recursive: true });
    const path = join(folder, "meta/_journal.json");
    const journal = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, 1) }));
    const old = await openEmptyDatabase();
    try {
      await migrate(old, folder);
      const records = [
        json("a"),
        json("b", { outcome: "error" }),
        json("c", { startedAt: Date.parse("2026-08-31T23:59:59.999Z"), outcome: "rate_limited" }),
        json("d", { startedAt: Date.parse("2026-09-01T00:00:00.000Z"), keyId: "key_2" }),
      ];
      await old.db.execute(oldInsert(records));
      await migrate(old);
      const summed = [
        [
          "2026-08-31T23:00:00 key_1 qwen3 chat 1 1 1 0 1234 7 11 3 2 0",
          "2026-09-01T00:00:00 key_2 qwen3 chat 1 0 0 0 1234 7 11 3 2 0",
          "2026-09-21T13:00:00 key_1 qwen3 chat 2 1 0 0 2468 14 22 6 4 0",
        ],
        ["key_1 2026-08-01 1 18", "key_1 2026-09-01 2 36", "key_2 2026-09-01 1 18"],
      ];
      expect([await hours(old), await months(old)]).toEqual(summed);
      await insert(old.db, ...records);
      expect([await hours(old), await months(old)]).toEqual(summed);
    } finally {
      await old.close();
      rmSync(folder, { recursive: true });
    }
  });
});

/** How the rows came into the first schema. */
function oldInsert(records: readonly string[]) {
  return sql`
    insert into usage_records (
      id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens,
      cached_tokens, reasoning_tokens, estimated, latency_ms, first_token_ms
    )
    select
      r.id, to_timestamp(r."startedAt" / 1000), r."keyId", r.channel, r.model, r.outcome, r.outcome = 'ok', r.status,
      r."inputTokens", r."outputTokens", r."cachedTokens", r."reasoningTokens", r.estimated, r."latencyMs",
      r."firstTokenMs"
    from json_to_recordset(${`[${records.join(",")}]`}::text::json) as r (
      id text, "startedAt" float8, "keyId" text, channel text, model text, outcome text, status float8,
      "inputTokens" float8, "outputTokens" float8, "cachedTokens" float8, "reasoningTokens" float8,
      estimated boolean, "latencyMs" float8, "firstTokenMs" float8
    )`;
}
