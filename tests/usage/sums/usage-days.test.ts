import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { toDatabaseError } from "../../../src/db/database-error.ts";
import type { Quarantine } from "../../../src/usage/journal/quarantine.ts";
import { storeRecords } from "../../../src/usage/journal/store-records.ts";
import { makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { countRows, eventually, usageRecord } from "../../support/stages/usage/usage-journal.ts";

const DAY_MS = 86_400_000;
const NOON = Date.parse("2026-09-21T12:00:00Z");

let database: Database;
let segment = 0;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  for (const name of await partitions()) {
    if (name !== "usage_records_other") await database.db.execute(sql.raw(`drop table ${name}`));
  }
  await database.db.execute(
    sql`truncate usage_records, usage_hours, model_hours, usage_days, journal_checkpoints`,
  );
});
afterAll(() => database.close());

/** Nothing may be refused for good: that would be kept aside. */
const ASIDE: Quarantine = {
  keepRefused: () => Promise.reject(new Error("a record was refused")),
  keepDamaged: () => Promise.reject(new Error("a record was damaged")),
};

function insert(...calls: readonly (readonly [id: string, startedAt: number])[]): Promise<void> {
  segment += 1;
  const records = calls.map(([id, startedAt]) => JSON.stringify(usageRecord(id, { startedAt })));
  const checkpoint = { journal: "test", segment, byteOffset: 1 };
  return storeRecords({ db: database.db, quarantine: ASIDE }, records, checkpoint);
}

/** The table that holds each row, by the row's id. */
async function tablesOf(): Promise<Record<string, string>> {
  const rows = await database.db.execute<{ id: string; name: string }>(
    sql`select id, tableoid::regclass::text as name from usage_records order by id`,
  );
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
}

async function partitions(): Promise<string[]> {
  const rows = await database.db.execute<{ name: string }>(
    sql`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'usage_records'::regclass
      order by 1`,
  );
  return rows.map(({ name }) => name);
}

const THREE_DAYS = [
  "usage_records_20260921",
  "usage_records_20260922",
  "usage_records_20260923",
  "usage_records_other",
];

describe("days of usage", () => {
  it("are made for today and the two next days, once, and by whoever is first", async () => {
    expect(await makeUsageDays(database.db, NOON)).toBe(true);
    expect(await partitions()).toEqual(THREE_DAYS);
    expect(await makeUsageDays(database.db, NOON)).toBe(true);
    const ends = [Date.parse("2026-09-22T00:00:00Z") - 1, Date.parse("2026-09-22T00:00:00Z")];
    for (const now of ends) await makeUsageDays(database.db, now);
    expect(await partitions()).toEqual([
      ...THREE_DAYS.slice(0, 3),
      "usage_records_20260924",
      "usage_records_other",
    ]);
  });

  it("are made by one of several replicas that start at once, and none of them fails", async () => {
    const made = await Promise.all(
      Array.from({ length: 4 }, () => makeUsageDays(database.db, NOON)),
    );
    expect(made).toContain(true);
    expect(await partitions()).toEqual(THREE_DAYS);
  });

  it("hold what began in them, to the last millisecond of UTC", async () => {
    await withTransaction(database.db, async (transaction) => {
      await transaction.execute(sql`set local time zone 'Asia/Kathmandu'`);
      await makeUsageDays(transaction, NOON);
    });
    await insert(
      ["before", Date.parse("2026-09-20T23:59:59.999Z")],
      ["first", Date.parse("2026-09-21T00:00:00.000Z")],
      ["last", Date.parse("2026-09-21T23:59:59.999Z")],
      ["next", Date.parse("2026-09-22T00:00:00.000Z")],
    );
    expect(await tablesOf()).toEqual({
      before: "usage_records_other",
      first: "usage_records_20260921",
      last: "usage_records_20260921",
      next: "usage_records_20260922",
    });
  });

  it("take in rows that came before them, and a replay finds these where they are now", async () => {
    const calls = [
      ["early", NOON - DAY_MS],
      ["today", NOON],
      ["tomorrow", NOON + DAY_MS],
      ["far", NOON + 400 * DAY_MS],
    ] as const;
    await insert(...calls);
    expect(new Set(Object.values(await tablesOf()))).toEqual(new Set(["usage_records_other"]));
    expect(await makeUsageDays(database.db, NOON)).toBe(true);
    const moved = {
      early: "usage_records_other",
      far: "usage_records_other",
      today: "usage_records_20260921",
      tomorrow: "usage_records_20260922",
    };
    expect(await tablesOf()).toEqual(moved);
    await insert(...calls);
    expect(await tablesOf()).toEqual(moved);
    const [hours] = await database.db.execute<{ requests: number }>(
      sql`select sum(requests)::int as requests from usage_hours`,
    );
    expect(hours?.requests).toBe(4);
  });

  it("are left out where too many rows came before them, and the other days are made", async () => {
    await database.db.execute(sql`
      insert into usage_records
      select 'call-' || i, to_timestamp(${NOON}::float8 / 1000) + i * interval '1 millisecond', 'key_1', 'chat', 'qwen3',
        'ok', true, 200, 1, 1, 0, 0, false, 1, 1, null
      from generate_series(1, 100001) as i`);
    expect(await makeUsageDays(database.db, NOON)).toBe(true);
    expect(await partitions()).toEqual(THREE_DAYS.slice(1));
    expect(await countRows(database)).toBe(100_001);
    await insert(["one more", NOON]);
    expect(await countRows(database)).toBe(100_002);
  });

  it("have every index of the whole, so that each question finds one", async () => {
    await makeUsageDays(database.db, NOON);
    const rows = await database.db.execute<{ table: string; columns: string }>(sql`
      select tablename as table, string_agg(substring(indexdef from 'USING.*'), ' ' order by substring(indexdef from 'USING.*')) as columns
      from pg_indexes where tablename in ('usage_records', 'usage_records_other', 'usage_records_20260921')
      group by 1`);
    const [one, ...rest] = rows.map(({ columns }) => columns);
    expect(one?.match(/USING/g)).toHaveLength(5);
    expect(rest).toEqual([one, one]);
  });

  it("take in a row on its second try that was on its way when they were made", async ({
    skip,
  }) => {
    if (database.kind === "embedded") skip("it has one session");
    let inserted: Promise<unknown> = Promise.resolve();
    await withTransaction(database.db, async (transaction) => {
      await makeUsageDays(transaction, NOON);
      inserted = insert(["a", NOON]).then(
        () => "stored",
        (thrown: unknown) => toDatabaseError(thrown).code,
      );
      await eventually(async () => {
        const [waiting] = await transaction.execute<{ locks: number }>(
          sql`select count(*)::int as locks from pg_locks
            where not granted and relation = 'usage_records_other'::regclass`,
        );
        return waiting?.locks === 1;
      });
    });
    // It is not kept aside as if it were refused for good: the journal gives it again.
    expect(await inserted).toBe("23514");
    await insert(["a", NOON]);
    expect(await tablesOf()).toEqual({ a: "usage_records_20260921" });
  });

  it("are made while calls of the same day are stored, and no row is refused or lost", async () => {
    const inserts = Array.from({ length: 60 }, async (_, batch) => {
      const calls = Array.from(
        { length: 20 },
        (_, index) => [`${batch}-${index}`, NOON + batch * 1_000 + index] as const,
      );
      // What came while the day was made may be given again, as the journal does.
      await insert(...calls).catch(() => insert(...calls));
    });
    const made = makeUsageDays(database.db, NOON);
    await Promise.all([...inserts, made]);
    while (!(await makeUsageDays(database.db, NOON))) await Promise.resolve();
    expect(await countRows(database)).toBe(1_200);
    expect(new Set(Object.values(await tablesOf()))).toEqual(new Set(["usage_records_20260921"]));
  });
});
