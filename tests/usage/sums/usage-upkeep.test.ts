import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { insertUsage, refusalOf } from "../../../src/usage/journal/usage-store.ts";
import { openUsageUpkeep, type UsageUpkeep } from "../../../src/usage/sums/usage-upkeep.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { silentLog, usageRecord } from "../../support/stages/usage/usage-journal.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const START = Date.parse("2026-09-21T12:00:00Z");
const RETENTION_DAYS = 3;

let database: Database;
let now = START;
let segment = 0;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  now = START;
  for (const name of await partitions()) {
    if (name !== "other") await database.db.execute(sql.raw(`drop table usage_records_${name}`));
  }
  await database.db.execute(sql`
    truncate usage_records, usage_hours, model_hours, usage_days, usage_months, usage_slots, latency_hours, limit_refusals, journal_checkpoints`);
});
afterAll(() => database.close());

function open(): Promise<UsageUpkeep> {
  return openUsageUpkeep({
    settings: { USAGE_RETENTION_DAYS: RETENTION_DAYS },
    database,
    clock: { now: () => now },
    log: silentLog,
  });
}

function insert(...records: readonly UsageRecord[]): Promise<void> {
  segment += 1;
  const texts = records.map((record) => JSON.stringify(record));
  return insertUsage(database.db, texts, { journal: "test", segment, byteOffset: 1 });
}

/** What the names of the partitions end with. */
async function partitions(): Promise<string[]> {
  const rows = await database.db.execute<{ name: string }>(
    sql`select substring(inhrelid::regclass::text from 15) as name from pg_inherits
      where inhparent = 'usage_records'::regclass order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function ids(): Promise<string[]> {
  const rows = await database.db.execute<{ id: string }>(
    sql`select id from usage_records order by started_at`,
  );
  return rows.map(({ id }) => id);
}

/** Every sum of a day, key, model and channel. */
async function sumsByDay(): Promise<string[]> {
  const rows = await database.db.execute<{ line: string }>(sql`
    select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD'), key_id, model, channel, sum(requests),
      sum(failures), sum(rate_limited), sum(aborted), sum(latency_ms), sum(input_tokens), sum(output_tokens),
      sum(cached_tokens), sum(reasoning_tokens), sum(extra_charge)) as line
    from usage_hours group by to_char(hour at time zone 'UTC', 'YYYY-MM-DD'), key_id, model, channel order by 1`);
  return rows.map(({ line }) => line);
}

/** Requests and charged tokens of every key and month, of which limits are computed: as stored, or from the hours. */
async function months(source: "usage_months" | "usage_hours"): Promise<string[]> {
  const stored = sql`select key_id, month, requests, tokens from usage_months`;
  const counted = sql`
    select key_id, date_trunc('month', hour at time zone 'UTC')::date as month, sum(requests) as requests,
      sum(input_tokens + output_tokens + extra_charge) as tokens
    from usage_hours group by 1, 2`;
  const rows = await database.db.execute<{ line: string }>(sql`
    select concat_ws(' ', key_id, month, requests, tokens) as line
    from (${source === "usage_months" ? stored : counted}) as months order by 1`);
  return rows.map(({ line }) => line);
}

/** Every sum of a day, model and channel, of one of the tables of hours. */
async function sumsOverKeys(table: "usage_hours" | "model_hours"): Promise<string[]> {
  const rows = await database.db.execute<{ line: string }>(sql`
    select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD'), model, channel, sum(requests), sum(failures),
      sum(rate_limited), sum(aborted), sum(latency_ms), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
      sum(reasoning_tokens)) as line
    from ${sql.identifier(table)} group by to_char(hour at time zone 'UTC', 'YYYY-MM-DD'), model, channel order by 1`);
  return rows.map(({ line }) => line);
}

async function hoursOf(day: string, table = "usage_hours"): Promise<string[]> {
  const rows = await database.db.execute<{ hour: string }>(sql`
    select distinct to_char(hour at time zone 'UTC', 'HH24:MI:SS') as hour from ${sql.identifier(table)}
    where to_char(hour at time zone 'UTC', 'YYYY-MM-DD') = ${day} order by 1`);
  return rows.map(({ hour }) => hour);
}

/** Calls of several hours, keys, models, channels and ends, on each of the days. */
function callsOf(...days: readonly number[]): UsageRecord[] {
  const outcomes = ["ok", "error", "aborted", "rate_limited"] as const;
  return days.flatMap((day) =>
    Array.from({ length: 96 }, (_, index) =>
      usageRecord(`${day}-${index}`, {
        startedAt: day + (index % 24) * HOUR_MS + index,
        keyId: `key_${index % 5}`,
        model: `model-${index % 3}`,
        channel: index % 2 === 0 ? "chat" : "messages",
        outcome: outcomes[index % 4] ?? "ok",
        inputTokens: index,
        extraCharge: index % 4 === 2 ? index : undefined,
        latencyMs: index * 10,
      }),
    ),
  );
}

const TODAY = Date.parse("2026-09-21T00:00:00Z");

describe("usage past its retention", () => {
  it("goes by whole days of UTC, as soon as the day is wholly past it, and not before", async () => {
    const upkeep = await open();
    await insert(
      usageRecord("first", { startedAt: TODAY }),
      usageRecord("last", { startedAt: TODAY + DAY_MS - 1 }),
      usageRecord("next", { startedAt: TODAY + DAY_MS }),
    );
    now = TODAY + (RETENTION_DAYS + 1) * DAY_MS - 1;
    await upkeep.run();
    expect(await ids()).toEqual(["first", "last", "next"]);
    expect(upkeep.figures()).toEqual({ lastPurgeAt: now, droppedDays: 0, droppedRows: 0 });
    now += 1;
    await upkeep.run();
    expect(await ids()).toEqual(["next"]);
    expect(upkeep.figures()).toEqual({ lastPurgeAt: now, droppedDays: 1, droppedRows: 2 });
    expect(await partitions()).toEqual([
      "20260922",
      "20260923",
      "20260924",
      "20260925",
      "20260926",
      "20260927",
      "other",
    ]);
  });

  it("goes in batches from the days that have no partition, however many rows there are", async () => {
    const upkeep = await open();
    await database.db.execute(sql`
      insert into usage_records
      select 'call-' || i, to_timestamp(${TODAY - 9 * DAY_MS}::float8 / 1000) + i * interval '1 second', 'key_1', 'chat',
        'qwen3', 'ok', true, 200, 1, 1, 0, 0, false, 1, 1, null
      from generate_series(1, 5001) as i`);
    await insert(usageRecord("kept", { startedAt: TODAY - 2 * DAY_MS }));
    await upkeep.run();
    expect(await ids()).toEqual(["kept"]);
    expect(upkeep.figures()).toMatchObject({ droppedDays: 0, droppedRows: 5_001 });
  });

  it("takes the figures of a day along, and no month and no refusal", async () => {
    const upkeep = await open();
    await insert(
      usageRecord("old", { startedAt: TODAY - 4 * DAY_MS }),
      usageRecord("young", { startedAt: TODAY - DAY_MS }),
    );
    await database.db.execute(sql`
      insert into limit_refusals values
        (to_timestamp(${TODAY - 3 * DAY_MS - HOUR_MS}::float8 / 1000), 'key_1', 'chat', 'rate_limit_exceeded', 1),
        (to_timestamp(${TODAY - 3 * DAY_MS - 2 * HOUR_MS}::float8 / 1000), 'key_1', 'chat', 'rate_limit_exceeded', 4),
        (to_timestamp(${TODAY - 3 * DAY_MS - HOUR_MS}::float8 / 1000), 'key_1', 'chat', 'token_limit_exceeded', 8),
        (to_timestamp(${TODAY - 3 * DAY_MS}::float8 / 1000), 'key_1', 'chat', 'rate_limit_exceeded', 2)`);
    await database.db.execute(sql`
      insert into journal_checkpoints values
        ('refusals:gone', 0, 1, now() - interval '8 days'), ('refusals:lives', 0, 1, now()),
        ('sessions:gone', 0, 1, now() - interval '8 days'), ('sessions:lives', 0, 1, now()),
        ('journal', 1, 1, now() - interval '8 days')`);
    await upkeep.run();
    const left = await database.db.execute<{ name: string; rows: number }>(sql`
      select 'slots' as name, count(*)::int as rows from usage_slots
      union all select 'latencies', count(*)::int from latency_hours
      union all select 'refusals', sum(refusals)::int from limit_refusals
      union all select 'folded refusals', sum(refusals)::int from limit_refusals
        where hour = to_timestamp(${TODAY - 4 * DAY_MS}::float8 / 1000) and code = 'rate_limit_exceeded'
      union all select 'rows of refusals', count(*)::int from limit_refusals
      union all select 'months', sum(requests)::int from usage_months
      union all select 'checkpoints', count(*)::int from journal_checkpoints where journal <> 'test'`);
    expect(Object.fromEntries(left.map(({ name, rows }) => [name, rows]))).toEqual({
      slots: 1,
      latencies: 1,
      refusals: 15,
      "folded refusals": 5,
      "rows of refusals": 3,
      months: 2,
      checkpoints: 3,
    });
  });

  it("is looked for again only after midnight or an hour", async () => {
    const upkeep = await open();
    await upkeep.run();
    await insert(usageRecord("old", { startedAt: TODAY - 9 * DAY_MS }));
    await upkeep.run();
    expect(await ids()).toEqual(["old"]);
    now += DAY_MS;
    await upkeep.run();
    expect(await ids()).toEqual([]);
  });

  it("stays for two days where the clock has leapt, however often the gateway is started there", async () => {
    await (await open()).run();
    await insert(usageRecord("old", { startedAt: TODAY }));
    const leap = 20_000 * DAY_MS;
    for (const at of [leap, leap + HOUR_MS, leap + DAY_MS]) {
      now = TODAY + at;
      const upkeep = await open();
      await upkeep.run();
      expect(await ids()).toEqual(["old"]);
      expect(upkeep.figures().lastPurgeAt).toBeUndefined();
    }
    now = TODAY + leap + 2 * DAY_MS;
    await (await open()).run();
    expect(await ids()).toEqual([]);
  });

  it("stays when the clock is set right again", async () => {
    const upkeep = await open();
    await upkeep.run();
    await insert(usageRecord("old", { startedAt: TODAY }));
    now += 20_000 * DAY_MS;
    await upkeep.run();
    now = TODAY + 3 * DAY_MS;
    await upkeep.run();
    expect(await ids()).toEqual(["old"]);
    now += DAY_MS;
    await upkeep.run();
    expect(await ids()).toEqual([]);
  });

  /** The upkeep before a database that fails with this code. */
  const openFailing = (code: string): Promise<UsageUpkeep> => {
    const failing = { execute: () => Promise.reject(Object.assign(new Error("failed"), { code })) };
    return openUsageUpkeep({
      settings: { USAGE_RETENTION_DAYS: RETENTION_DAYS },
      database: { db: new Proxy(database.db, { get: (_, name) => Reflect.get(failing, name) }) },
      clock: { now: () => now },
      log: silentLog,
    });
  };

  it("that takes too long for the database is a failure, and one of an hour", async () => {
    const upkeep = await openFailing("57014");
    await expect(upkeep.run()).rejects.toMatchObject({ code: "57014" });
    await upkeep.run();
    expect(upkeep.figures().lastPurgeAt).toBeUndefined();
  });

  it("goes while the database was away only once it is back, without an error", async () => {
    const upkeep = await open();
    const other = await openFailing("ECONNREFUSED");
    await other.run();
    expect(other.figures().lastPurgeAt).toBeUndefined();
    await upkeep.run();
    expect(upkeep.figures().lastPurgeAt).toBe(now);
  });
});

describe("hours of usage past its retention", () => {
  it("become one row a day, model and channel over all keys, and every sum of a day stays", async () => {
    const upkeep = await open();
    await insert(...callsOf(TODAY - 5 * DAY_MS, TODAY - 4 * DAY_MS, TODAY - 3 * DAY_MS));
    const before = await sumsOverKeys("model_hours");
    expect(before).toHaveLength(3 * 6);
    expect(before).toEqual(await sumsOverKeys("usage_hours"));
    await upkeep.run();
    expect(await sumsOverKeys("model_hours")).toEqual(before);
    expect(await hoursOf("2026-09-16", "model_hours")).toEqual(["00:00:00"]);
    expect(await hoursOf("2026-09-17", "model_hours")).toEqual(["00:00:00"]);
    expect(await hoursOf("2026-09-18", "model_hours")).toHaveLength(24);
    const [stored] = await database.db.execute<{ rows: number }>(
      sql`select count(*)::int as rows from model_hours where hour < '2026-09-18Z'`,
    );
    expect(stored?.rows).toBe(2 * 6);
  });

  it("become one row a day, key, model and channel, and every sum of a day stays", async () => {
    const upkeep = await open();
    const days = [TODAY - 5 * DAY_MS, TODAY - 4 * DAY_MS, TODAY - 3 * DAY_MS];
    await insert(...callsOf(...days));
    const before = await sumsByDay();
    expect(before).toHaveLength(3 * 30);
    await upkeep.run();
    expect(await sumsByDay()).toEqual(before);
    expect(await months("usage_hours")).toEqual(await months("usage_months"));
    expect(await hoursOf("2026-09-16")).toEqual(["00:00:00"]);
    expect(await hoursOf("2026-09-17")).toEqual(["00:00:00"]);
    expect(await hoursOf("2026-09-18")).toHaveLength(24);
    const [stored] = await database.db.execute<{ rows: number }>(
      sql`select count(*)::int as rows from usage_hours where hour < '2026-09-18Z'`,
    );
    expect(stored?.rows).toBe(2 * 30);
  });

  it("take in what comes late, from a journal that was found afterwards", async () => {
    const upkeep = await open();
    const day = TODAY - 5 * DAY_MS;
    await insert(...callsOf(day));
    await upkeep.run();
    const before = await sumsByDay();
    await insert(
      usageRecord("late", { startedAt: day + 5 * HOUR_MS, keyId: "key_late" }),
      usageRecord("later", { startedAt: day + 9 * HOUR_MS, keyId: "key_late" }),
    );
    expect(await hoursOf("2026-09-16")).toEqual(["00:00:00", "05:00:00", "09:00:00"]);
    now += DAY_MS;
    await upkeep.run();
    expect(await hoursOf("2026-09-16")).toEqual(["00:00:00"]);
    const late = "2026-09-16 key_late modèle ☃ chat 2 0 0 0 2468 14 22 6 4 0";
    expect(await sumsByDay()).toEqual([...before, late].sort());
    expect(await months("usage_hours")).toEqual(await months("usage_months"));
    expect(await hoursOf("2026-09-16", "model_hours")).toEqual(["00:00:00"]);
    expect(await sumsOverKeys("model_hours")).toEqual(await sumsOverKeys("usage_hours"));
  });

  it("are folded while late calls are added to them, by two replicas at once, and nothing is lost", async () => {
    const day = TODAY - 5 * DAY_MS;
    const [one, other] = await Promise.all([open(), open()]);
    const late = Array.from({ length: 20 }, (_, batch) =>
      callsOf(day).map((call) => ({ ...call, id: `${batch}-${call.id}` })),
    );
    const [first = [], ...rest] = late;
    await insert(...first);
    const adding = Promise.all(rest.map((calls) => insert(...calls)));
    await Promise.all([one.run(), other.run(), adding]);
    now += DAY_MS;
    await one.run();
    expect(await hoursOf("2026-09-16")).toEqual(["00:00:00"]);
    const [sums] = await database.db.execute<{ requests: number; latency: number }>(
      sql`select sum(requests)::int as requests, sum(latency_ms)::int as latency from usage_hours`,
    );
    expect(sums).toEqual({ requests: 20 * 96, latency: 20 * (95 * 48) * 10 });
    expect(await hoursOf("2026-09-16", "model_hours")).toEqual(["00:00:00"]);
    expect(await sumsOverKeys("model_hours")).toEqual(await sumsOverKeys("usage_hours"));
  });
});

describe("a purge while the usage is read", () => {
  it("leaves a day that somebody reads for the next time, and keeps nobody waiting for it", async ({
    skip,
  }) => {
    if (database.kind === "embedded") skip("it has one session");
    const upkeep = await open();
    await insert(usageRecord("old", { startedAt: TODAY }));
    now = TODAY + 9 * DAY_MS;
    let release: () => void = () => undefined;
    const isReading = new Promise<void>((isThere) => {
      void withTransaction(database.db, async (transaction) => {
        await transaction.execute(sql`select count(*) from usage_records`);
        isThere();
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      });
    });
    await isReading;
    const purge = upkeep.run();
    // It comes behind the purge that waits, which gives up soon.
    await insert(usageRecord("new", { startedAt: now }));
    await purge;
    expect(await ids()).toEqual(["old", "new"]);
    expect(upkeep.figures()).toEqual({ lastPurgeAt: undefined, droppedDays: 0, droppedRows: 0 });
    release();
    await upkeep.run();
    expect(await ids()).toEqual(["new"]);
    expect(upkeep.figures()).toEqual({ lastPurgeAt: now, droppedDays: 3, droppedRows: 1 });
  });

  it("drops days under a load of inserts and reports, and refuses none of them", async () => {
    const upkeep = await open();
    await insert(...callsOf(TODAY, TODAY + DAY_MS, TODAY + 2 * DAY_MS));
    now = TODAY + 9 * DAY_MS;
    let isDone = false;
    const load = Array.from({ length: 2 }, async (_, worker) => {
      for (let round = 0; !isDone || round < 10; round += 1) {
        const record = usageRecord(`${worker}-${round}`, { startedAt: now + round });
        // Its day may be made just then: it is given again, as the journal does with what is not refused for good.
        await insert(record).catch((thrown: unknown) => {
          if (refusalOf(thrown) === "values") throw thrown;
          return insert(record);
        });
        await database.db.execute(sql`select count(*) from usage_records`);
      }
    });
    while (upkeep.figures().lastPurgeAt === undefined) {
      await upkeep.run();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    isDone = true;
    await Promise.all(load);
    expect(upkeep.figures()).toMatchObject({ droppedDays: 3, droppedRows: 3 * 96 });
  });
});
