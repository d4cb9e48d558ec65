import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { openSnapshot } from "../../../src/operations/backup/snapshot/open-snapshot.ts";
import { dayTable, makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
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
