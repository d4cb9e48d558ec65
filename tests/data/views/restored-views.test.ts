import { sql } from "drizzle-orm";
import { afterAll, describe, expect, test, vi } from "vitest";
import { openViews } from "../../../src/data/views/open-views.ts";
import type { Db } from "../../../src/db/context.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  backUpOpen,
  createBackupStage,
  crossings,
  makeInstallationWith,
  restore,
  withDatabase,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());

const TABLE = "ds_1_abcdefgh";

async function makeViewsIn(db: Db): Promise<void> {
  // `ask` and the rest are not used here.
  const database = { db } as Parameters<typeof openViews>[0]["database"];
  const log = createLog("silent");
  const views = await openViews({ database, clock: { now: () => Date.now() }, log });
  expect(views.areMade()).toBe(true);
}

const viewsIn = async (db: Db) => {
  const found = await db.execute<{ name: string }>(
    sql`select relname as name from pg_class where relnamespace = to_regnamespace('data') order by 1`,
  );
  return Array.from(found, ({ name }) => name);
};

describe.each(crossings)("the views after a restore from %s to %s", (from, to) => {
  test("are not in the backup, and are made from what it holds", async () => {
    const source = await stage.newPlace(from);
    const file = stage.newFile();
    await makeInstallationWith(source, 0, async (database) => {
      const { db } = database;
      const run = (text: string) => db.execute(sql.raw(text));
      await run("insert into users (id, username, role) values ('usr_1', 'ann', 'admin')");
      await run(`insert into datasets (id, name, columns, table_name, rows)
        values ('ds_1', 'prices', '[{"name": "n", "type": "integer"}]', '${TABLE}', 1)`);
      await run(
        `create table datasets."${TABLE}" (_load integer, _row bigint, _gone integer, n bigint)`,
      );
      await run(`insert into datasets."${TABLE}" values (1, 1, null, 7), (1, 2, 1, 8)`);
      await makeViewsIn(db);
      expect(await viewsIn(db)).toContain("prices");
      await backUpOpen(source, database, file);
    });
    const target = await stage.newPlace(to);
    if (to === "postgres") {
      // Of an installation before, whose tables were dropped.
      await withDatabase(target, async (db) => {
        await db.execute("create schema data");
        await db.execute("create view data.sales as select 1 as n");
        await db.execute("comment on schema data is 'x (views 1, 0123456789abcdef)'");
      });
    }
    await restore(target, file);
    await withDatabase(target, async (db) => {
      expect(await viewsIn(db)).toEqual([]);
      await makeViewsIn(db);
      expect(await viewsIn(db)).toContain("prices");
      expect([...(await db.execute("select n::int from data.prices"))]).toEqual([{ n: 7 }]);
      expect([...(await db.execute("select name from data.users"))]).toEqual([{ name: "ann" }]);
    });
  });
});
