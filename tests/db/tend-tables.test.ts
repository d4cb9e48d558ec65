import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { tendTables } from "../../src/db/embedded/tend-tables.ts";
import { openEmbeddedInMemory } from "../support/servers/databases/test-database.ts";

const TABLES = ["one", "two", "three"];
const ROWS = 1_000;

let database: Database;

beforeEach(async () => {
  database = await openEmbeddedInMemory();
  for (const table of TABLES) {
    await database.db.execute(
      sql.raw(`create table ${table} (number int, kind text, words tsvector)`),
    );
    await fill(table, ROWS);
  }
});

afterEach(() => database.close());

async function fill(table: string, rows: number): Promise<void> {
  await database.db.execute(
    sql.raw(`insert into ${table}
      select number, 'kind ' || number % 3, to_tsvector('simple', 'word') from generate_series(1, ${rows}) as number`),
  );
  await countChanges();
}

/** The database otherwise counts them once a second. */
async function countChanges(): Promise<void> {
  await database.db.execute(sql`select pg_stat_force_next_flush()`);
  await database.db.execute(sql`select 1`);
}

async function figuresOf(table: string) {
  const [row] = await database.db.execute<{
    rows: number;
    deadRows: number;
    vacuums: number;
    columns: readonly string[];
  }>(sql`
    select reltuples::int as rows, n_dead_tup::int as "deadRows", vacuum_count::int as vacuums,
      (select json_agg(attname order by attname) from pg_stats where tablename = relname) as columns
    from pg_class join pg_stat_user_tables using (relname) where relname = ${table}`);
  return row;
}

describe("The tables of the embedded database", () => {
  test("have statistics, but none of indexed words", async () => {
    expect(await figuresOf("one")).toMatchObject({ rows: -1, columns: null });
    await tendTables(database.db).run();
    expect(await figuresOf("one")).toMatchObject({ rows: ROWS, columns: ["kind", "number"] });
  });

  test("are analyzed again after a tenth has changed", async () => {
    const { run } = tendTables(database.db);
    await run();
    await fill("one", 90);
    await run();
    expect(await figuresOf("one")).toMatchObject({ rows: ROWS });
    await fill("one", 200);
    await run();
    expect(await figuresOf("one")).toMatchObject({ rows: ROWS + 290 });
  });

  test("are vacuumed after a fifth was deleted", async () => {
    const { run } = tendTables(database.db);
    await database.db.execute(sql`delete from one where number % 3 = 0`);
    await database.db.execute(sql`delete from two where number % 100 = 0`);
    await countChanges();
    await run();
    await countChanges();
    expect(await figuresOf("one")).toMatchObject({ vacuums: 1, deadRows: 0 });
    expect(await figuresOf("two")).toMatchObject({ vacuums: 0 });
  });

  test("leave room for calls meanwhile", async () => {
    let isTending = true;
    const tending = tendTables(database.db)
      .run()
      .finally(() => {
        isTending = false;
      });
    let answered = 0;
    while (isTending) {
      await database.db.execute(sql`select 1`);
      answered += 1;
    }
    await tending;
    expect(answered).toBeGreaterThan(TABLES.length);
  });
});
