import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { openSnapshot } from "../../../src/operations/backup/snapshot/open-snapshot.ts";
import { dayTable, makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import { openDatasetStage } from "../../data/datasets/dataset-stage.ts";
import { openedKind, openTestDatabase } from "../../support/servers/databases/test-database.ts";

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 20);

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

// The embedded database has no transaction beside another.
test.runIf(openedKind === "postgres")(
  "a snapshot has the rows of its moment, holds no lock on a day that it does not read, and passes over a dropped one",
  async () => {
    const { db } = database;
    await makeUsageDays(db, FIRST);
    const add = (day: number, id: string) =>
      db.execute(sql`
        insert into usage_records values (${id}, ${new Date(FIRST + day * DAY_MS).toISOString()}::timestamptz, 'key', 'chat', 'm',
          'ok', true, 200, 1, 1, 0, 0, false, 1, 1, null)`);
    for (const day of [-5, 0, 1, 2, 4]) await add(day, `day ${day}`);
    const snapshot = await openSnapshot(database);
    await add(1, "too late");
    await db.execute(sql.raw(`drop table ${dayTable(FIRST)}`));
    // The row of a day without a partition moves to a new one.
    expect(await makeUsageDays(db, FIRST + 2 * DAY_MS)).toBe(true);

    const table = snapshot.tables.find(({ name }) => name === "usage_records");
    if (table === undefined) throw new Error("there is no usage");
    const ids: unknown[] = [];
    for await (const rows of snapshot.rows(table)) ids.push(...rows.map(([id]) => id));
    expect(ids.sort()).toEqual(["day -5", "day 1", "day 2", "day 4"]);
    await snapshot.close();
  },
);

test.runIf(openedKind === "postgres")(
  "a snapshot locks no table of a dataset, and has the rows of one that is replaced meanwhile",
  async () => {
    const stage = await openDatasetStage(database);
    const dataset = await stage.create({ columns: [{ name: "n", type: "integer" }] });
    await stage.write(dataset, "append", [{ n: 1 }, { n: 2 }]);
    const snapshot = await openSnapshot(database);
    const locks = await database.db.execute(sql`
      select from pg_locks join pg_class on pg_class.oid = relation where relname = ${dataset.tableName}`);
    expect(locks).toHaveLength(0);

    await stage.write(dataset, "replace", [{ n: 3 }]);
    stage.passTime(24 * 3_600_000);
    await stage.runJob("dataset_orphans");
    const table = snapshot.tables.find(({ name }) => name === `datasets.${dataset.tableName}`);
    if (table === undefined) throw new Error("the dataset is missing");
    const place = table.columns.findIndex(({ name }) => name === "n");
    const values: unknown[] = [];
    for await (const rows of snapshot.rows(table)) values.push(...rows.map((row) => row[place]));
    expect(values).toEqual(["1", "2"]);

    await snapshot.close();
    await stage.runJob("dataset_orphans");
    expect(await stage.tables(dataset)).toHaveLength(1);
    expect(await stage.tables(dataset)).not.toContain(dataset.tableName);
    await stage.close();
  },
);
