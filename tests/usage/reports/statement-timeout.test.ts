import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { withStatementTimeout } from "../../../src/usage/reports/statement-timeout.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe("a query with a limit of time", () => {
  it("is answered when it is quick enough", async () => {
    const rows = await withStatementTimeout(database.db, 10_000, (db) =>
      db.execute<{ one: number }>(sql`select 1 as one`),
    );
    expect(rows?.[0]?.one).toBe(1);
  });

  it("is cut short when it is not, and leaves its connection as it was", async ({ skip }) => {
    if (database.kind === "embedded") skip("it cuts nothing short");
    const sleep = sql`select pg_sleep(30)`;
    expect(await withStatementTimeout(database.db, 10, (db) => db.execute(sleep))).toBeUndefined();
    for (let look = 0; look < 5; look += 1) {
      const rows = await database.db.execute<Record<string, string>>(sql`show statement_timeout`);
      expect(rows[0]?.["statement_timeout"]).not.toBe("10ms");
    }
  });

  it("fails as the query does", async () => {
    const failing = withStatementTimeout(database.db, 1_000, (db) =>
      db.execute(sql`select from no_such_table`),
    );
    await expect(failing).rejects.toThrow();
  });
});
