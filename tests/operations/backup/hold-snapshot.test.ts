import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { holdSnapshot } from "../../../src/operations/backup/snapshot/hold-snapshot.ts";
import type { Snapshot } from "../../../src/operations/backup/snapshot/snapshot.ts";
import { makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import { openEmbeddedInMemory } from "../../support/servers/databases/test-database.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const NOW = Date.UTC(2026, 10, 20, 12);
const EARLIER = NOW - 10 * 86_400_000;

let database: Database;
beforeAll(async () => {
  database = await openEmbeddedInMemory();
});
afterAll(() => database.close());

async function addUsage(id: string, at: number): Promise<void> {
  await database.db.execute(sql`
    insert into usage_records values (${id}, ${new Date(at).toISOString()}::timestamptz, 'key', 'chat', 'm', 'ok', true, 200,
      1, 1, 0, 0, false, 1, 1, null)`);
}

async function idsOf(snapshot: Snapshot): Promise<readonly (string | null | undefined)[]> {
  const table = snapshot.tables.find(({ name }) => name === "usage_records");
  if (table === undefined) throw new Error("there is no usage");
  const ids: (string | null | undefined)[] = [];
  for await (const rows of snapshot.rows(table)) ids.push(...rows.map(([id]) => id));
  return ids.sort();
}

async function heldQueries(): Promise<readonly string[]> {
  const cursors = await database.db.execute<{ statement: string }>(
    sql`select statement from pg_cursors where is_holdable`,
  );
  return cursors.map(({ statement }) => statement);
}

test("the moment of a backup holds rows as they are stored, and of usage only those without a day of their own", async () => {
  await makeUsageDays(database.db, EARLIER);
  await addUsage("of a day", EARLIER);
  await addUsage("without a day", NOW);
  const snapshot = await holdSnapshot(database.db);
  const queries = await heldQueries();
  expect(queries.filter((query) => query.includes("::text"))).toEqual([]);
  expect(queries.filter((query) => query.includes('from "usage_records'))).toEqual([
    expect.stringContaining('from "usage_records_other"'),
  ]);

  // Its day gets a partition, to which it moves; and others come meanwhile.
  expect(await makeUsageDays(database.db, NOW)).toBe(true);
  await addUsage("too late", EARLIER);
  await addUsage("too late as well", NOW);
  expect(await idsOf(snapshot)).toEqual(["of a day", "without a day"]);
  await snapshot.close();
  expect(await heldQueries()).toEqual([]);
});
