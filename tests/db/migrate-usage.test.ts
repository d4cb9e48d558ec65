import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { insertUsage } from "../../src/usage/journal/usage-store.ts";
import { openEmptyDatabase } from "../support/servers/databases/test-database.ts";
import { usageRecord } from "../support/stages/usage/usage-journal.ts";

// A database of the release that had no days: its rows move into days, and every sum is made from them.

const ROWS = 20_000;
/** More days than get a partition of their own. */
const DAYS = 125;
const LAST_DAY = Date.parse("2026-09-21T00:00:00Z");

let database: Database;
let before: { rows: string; months: string; hours: string };

beforeAll(async () => {
  database = await openEmptyDatabase();
  const folder = firstMigrations(2);
  await migrate(database, folder);
  rmSync(folder, { recursive: true });
  await fill();
  before = await fingerprints();
  await migrate(database);
});
afterAll(() => database.close());

/** A copy of the program's first migrations. */
function firstMigrations(count: number): string {
  const folder = mkdtempSync(join(tmpdir(), "migrations-"));
  cpSync(new URL("../../drizzle", import.meta.url), folder, { recursive: true });
  const path = join(folder, "meta/_journal.json");
  const journal = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
  return folder;
}

/** Rows and sums as the release before wrote them, at the edges of days too. */
async function fill(): Promise<void> {
  await database.db.execute(sql`
    insert into usage_records (
      id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens, cached_tokens,
      reasoning_tokens, estimated, latency_ms, first_token_ms, tool_name
    )
    select
      'call-' || i,
      case i % 500
        when 0 then to_timestamp(${LAST_DAY}::float8 / 1000) - (i / 500) % ${DAYS}::int * interval '24 hours'
        when 1 then to_timestamp((${LAST_DAY}::float8 - 1) / 1000) - (i / 500) % ${DAYS}::int * interval '24 hours'
        else to_timestamp(${LAST_DAY}::float8 / 1000) - (i::bigint * 7919 % (${DAYS}::int * 86400)) * interval '1 second'
      end,
      'key_' || i % 7, (array['chat', 'messages', 'audio'])[1 + i % 3], 'model-' || i % 5,
      (array['ok', 'ok', 'error', 'aborted', 'rate_limited'])[1 + i % 5], i % 5 < 2, 200, i, i % 100, i % 10, i % 4,
      i % 2 = 0, (i::bigint * i) % 300000, nullif(i % 50, 0), null
    from generate_series(1, ${ROWS}::int) as i`);
  await database.db.execute(sql`
    insert into usage_hours (
      hour, key_id, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens, reasoning_tokens
    )
    select date_trunc('hour', started_at, 'UTC'), key_id, model, channel, count(*),
      count(*) filter (where outcome in ('error', 'rate_limited')), sum(input_tokens), sum(output_tokens),
      sum(cached_tokens), sum(reasoning_tokens)
    from usage_records group by 1, 2, 3, 4`);
  await database.db.execute(sql`
    insert into usage_months
    select key_id, date_trunc('month', started_at at time zone 'UTC')::date, count(*),
      sum(input_tokens + output_tokens)
    from usage_records group by 1, 2`);
}

/** What may not change, each as one text. */
async function fingerprints(): Promise<{ rows: string; months: string; hours: string }> {
  return {
    rows: await digest(sql`
      select id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens,
        cached_tokens, reasoning_tokens, estimated, latency_ms, first_token_ms, tool_name
      from usage_records`),
    months: await digest(sql`select * from usage_months`),
    hours: await digest(sql`
      select hour, key_id, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens,
        reasoning_tokens
      from usage_hours`),
  };
}

async function digest(query: ReturnType<typeof sql>): Promise<string> {
  const [row] = await database.db.execute<{ digest: string }>(sql`
    select count(*) || ' ' || md5(string_agg(line, ';' order by line)) as digest
    from (select row::text as line from (${query}) as row) as lines`);
  return row?.digest ?? "";
}

/** The lines of one query that another has not, both ways. */
async function differences(
  stored: ReturnType<typeof sql>,
  counted: ReturnType<typeof sql>,
): Promise<unknown[]> {
  return [
    ...(await database.db.execute(sql`(${stored}) except (${counted})`)),
    ...(await database.db.execute(sql`(${counted}) except (${stored})`)),
  ];
}

describe("usage of the release before", () => {
  it("is there as it was: every row, every hour, every month", async () => {
    expect(before.rows).toMatch(/^20000 /);
    expect(await fingerprints()).toEqual(before);
  });

  it("lies in the partition of its day, and days of long ago lie together", async () => {
    const days = await database.db.execute<{ name: string; from: string; to: string }>(sql`
      select tableoid::regclass::text as name,
        to_char(min(started_at) at time zone 'UTC', 'YYYYMMDD') as from,
        to_char(max(started_at) at time zone 'UTC', 'YYYYMMDD') as to
      from usage_records group by 1 order by 1 desc`);
    const [others, ...own] = days;
    expect(others?.name).toBe("usage_records_other");
    expect(own).toHaveLength(120);
    for (const { name, from, to } of own)
      expect([from, to]).toEqual([name.slice(14), name.slice(14)]);
    expect((others?.to ?? "") < (own.at(-1)?.from ?? "")).toBe(true);
  });

  it("has sums of hours that tell the new figures too", async () => {
    const differing = await differences(
      sql`select hour, key_id, model, channel, requests, rate_limited, aborted, latency_ms::numeric from usage_hours`,
      sql`select date_trunc('hour', started_at, 'UTC'), key_id, model, channel, count(*),
          count(*) filter (where outcome = 'rate_limited'), count(*) filter (where outcome = 'aborted'), sum(latency_ms)
        from usage_records group by 1, 2, 3, 4`,
    );
    expect(differing).toEqual([]);
  });

  it("has sums of hours over all keys", async () => {
    const differing = await differences(
      sql`select hour, model, channel, requests, failures, rate_limited, aborted, latency_ms::numeric,
          input_tokens::numeric, output_tokens::numeric, cached_tokens::numeric, reasoning_tokens::numeric
        from model_hours`,
      sql`select date_trunc('hour', started_at, 'UTC'), model, channel, count(*),
          count(*) filter (where outcome in ('error', 'rate_limited')), count(*) filter (where outcome = 'rate_limited'),
          count(*) filter (where outcome = 'aborted'), sum(latency_ms), sum(input_tokens), sum(output_tokens),
          sum(cached_tokens), sum(reasoning_tokens)
        from usage_records group by 1, 2, 3`,
    );
    expect(differing).toEqual([]);
  });

  it("has the figures of a day, by ten minutes and by latency", async () => {
    const slots = await differences(
      sql`select slot, channel, requests, errors, rate_limited, input_tokens::numeric, output_tokens::numeric
        from usage_slots`,
      sql`select date_bin('10 minutes', started_at, 'epoch'), channel, count(*),
          count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'rate_limited'),
          sum(input_tokens), sum(output_tokens)
        from usage_records group by 1, 2`,
    );
    const latencies = await differences(
      sql`select hour, bucket, requests, latency_ms::numeric from latency_hours`,
      sql`select date_trunc('hour', started_at, 'UTC'), round(50 * ln(1 + latency_ms))::int, count(*), sum(latency_ms)
        from usage_records group by 1, 2`,
    );
    expect([slots, latencies]).toEqual([[], []]);
  });

  it("is added to by what comes, and a call of before is not counted again", async () => {
    const [old] = await database.db.execute<{ id: string; at: number }>(sql`
      select id, (extract(epoch from started_at) * 1000)::float8 as at from usage_records order by id limit 1`);
    const again = usageRecord(old?.id ?? "", { startedAt: old?.at ?? 0, keyId: "key_new" });
    const fresh = usageRecord("fresh", { startedAt: LAST_DAY, keyId: "key_new" });
    const records = [again, fresh].map((record) => JSON.stringify(record));
    await insertUsage(database.db, records, { journal: "test", segment: 1, byteOffset: 1 });
    const [added] = await database.db.execute<{ requests: number }>(
      sql`select sum(requests)::int as requests from usage_months where key_id = 'key_new'`,
    );
    expect(added?.requests).toBe(1);
  });
});

describe("sums of the release that had no hours over all keys", () => {
  it("are added up over their keys, by day where they were folded, and added to once", async () => {
    const old = await openEmptyDatabase();
    const folder = firstMigrations(4);
    try {
      await migrate(old, folder);
      // The first day is folded and its rows are gone; of the last there are both.
      await old.db.execute(sql`
        insert into usage_hours values
          ('2026-06-01T00:00:00Z', 'key_1', 'qwen3', 'chat', 10, 1, 100, 200, 3, 4, 5, 6, 7000),
          ('2026-06-01T00:00:00Z', 'key_2', 'qwen3', 'chat', 20, 2, 300, 400, 5, 6, 7, 8, 9000),
          ('2026-06-01T00:00:00Z', 'key_2', 'llama', 'chat', 1, 0, 2, 3, 0, 0, 0, 0, 40),
          ('2026-09-21T13:00:00Z', 'key_1', 'qwen3', 'chat', 1, 0, 7, 11, 3, 2, 0, 0, 1234)`);
      const record = { keyId: "key_1", model: "qwen3", startedAt: LAST_DAY + 13.5 * 3_600_000 };
      await old.db.execute(sql`
        insert into usage_records values ('there', to_timestamp(${record.startedAt}::float8 / 1000), 'key_1', 'chat',
          'qwen3', 'ok', true, 200, 7, 11, 3, 2, false, 1234, 56, null)`);
      await migrate(old);
      const lines = async () => {
        const rows = await old.db.execute<{ line: string }>(sql`
          select concat_ws(' ', to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24'), model, channel, requests, failures,
            rate_limited, aborted, latency_ms, input_tokens, output_tokens, cached_tokens, reasoning_tokens) as line
          from model_hours order by 1`);
        return rows.map(({ line }) => line);
      };
      const folded = [
        "2026-06-01 00 llama chat 1 0 0 0 40 2 3 0 0",
        "2026-06-01 00 qwen3 chat 30 3 12 14 16000 400 600 8 10",
      ];
      expect(await lines()).toEqual([...folded, "2026-09-21 13 qwen3 chat 1 0 0 0 1234 7 11 3 2"]);
      const records = ["there", "fresh"].map((id) => JSON.stringify(usageRecord(id, record)));
      await insertUsage(old.db, records, { journal: "test", segment: 1, byteOffset: 1 });
      expect(await lines()).toEqual([...folded, "2026-09-21 13 qwen3 chat 2 0 0 0 2468 14 22 6 4"]);
      await migrate(old);
      expect(await lines()).toHaveLength(3);
    } finally {
      await old.close();
      rmSync(folder, { recursive: true });
    }
  });
});
