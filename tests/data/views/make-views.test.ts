import { sql } from "drizzle-orm";
import { afterEach, describe, expect, it } from "vitest";
import type { BuiltInView } from "../../../src/data/views/data-view.ts";
import { ForeignSchemaError, makeViews } from "../../../src/data/views/make-views.ts";
import { openViews } from "../../../src/data/views/open-views.ts";
import { BUILT_IN_VIEWS } from "../../../src/data/views/registry.ts";
import type { Database } from "../../../src/db/database.ts";
import { knownMigrations, migrate } from "../../../src/db/migrate.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  openEmptyDatabase,
  openTestDatabase,
} from "../../support/servers/databases/test-database.ts";

const open: Database[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

async function opened(opening: Promise<Database>): Promise<Database> {
  const database = await opening;
  open.push(database);
  return database;
}

const run = ({ db }: Database, text: string) => db.execute(sql.raw(text));

async function columnsOf({ db }: Database, view: string): Promise<string[]> {
  const found = await db.execute<{ name: string }>(sql`
    select attname as name from pg_attribute where attrelid = to_regclass(${`data.${view}`}) and attnum > 0 order by attnum`);
  return Array.from(found, ({ name }) => name);
}

/** The views with one column more, as a later release would have them. */
const LATER: readonly BuiltInView[] = BUILT_IN_VIEWS.map((view) =>
  view.name === "users"
    ? {
        ...view,
        columns: [
          ...view.columns,
          { name: "one", type: "integer", comment: null, nullable: false },
        ],
        select: view.select.replace(", created_at", ", created_at, 1 as one"),
      }
    : view,
);
/** The same with a column less, which no release does. */
const FEWER: readonly BuiltInView[] = BUILT_IN_VIEWS.map((view) =>
  view.name === "users"
    ? {
        ...view,
        columns: view.columns.slice(1),
        select: view.select.replace("select id,", "select"),
      }
    : view,
);

/** Remembers which views were made, and so are to be granted. */
function makes() {
  const made: string[] = [];
  return { made, onViewMade: async (_: unknown, name: string) => void made.push(name) };
}

describe("the schema data", () => {
  it("is made by one of several makers, and by none again", async () => {
    const database = await opened(openTestDatabase());
    const { made, onViewMade } = makes();
    const makers = Array.from({ length: 4 }, () => makeViews(database, { onViewMade }));
    expect(await Promise.all(makers)).toEqual([true, true, true, true]);
    expect(made).toEqual(BUILT_IN_VIEWS.map(({ name }) => name));
    await makeViews(database, { onViewMade });
    expect(made).toHaveLength(BUILT_IN_VIEWS.length);
  });

  it("gets new columns without losing grants, and keeps them beside an older replica", async () => {
    const database = await opened(openTestDatabase());
    const { made, onViewMade } = makes();
    await makeViews(database, { onViewMade });
    await makeViews(database, { onViewMade, views: LATER, revision: 1_000 });
    expect(made).toHaveLength(BUILT_IN_VIEWS.length);
    expect((await columnsOf(database, "users")).at(-1)).toBe("one");
    await makeViews(database, { onViewMade });
    expect((await columnsOf(database, "users")).at(-1)).toBe("one");
    // An older replica makes what is missing, and nothing else.
    await run(database, "drop view data.keys");
    await makeViews(database, { onViewMade });
    expect(made.at(-1)).toBe("keys");
    expect((await columnsOf(database, "users")).at(-1)).toBe("one");
    // A view that lost a column is dropped, made again and has to be granted again.
    await makeViews(database, { onViewMade, views: FEWER, revision: 1_001 });
    expect(made.at(-1)).toBe("users");
    expect((await columnsOf(database, "users"))[0]).toBe("name");
  });

  it("is not touched when it is somebody else's, and taken when it is empty", async () => {
    const database = await opened(openTestDatabase());
    const { onViewMade } = makes();
    await run(database, "create schema data");
    await run(database, "create table data.own (n int)");
    await expect(makeViews(database, { onViewMade })).rejects.toThrow(ForeignSchemaError);
    const views = await openViews({
      ...{ database, clock: { now: () => 0 }, log: createLog("silent") },
    });
    expect(views.areMade()).toBe(false);
    expect(await columnsOf(database, "own")).toEqual(["n"]);
    await run(database, "drop table data.own");
    await views.keep();
    expect(views.areMade()).toBe(true);
  });

  it("keeps no migration from changing the tables that its views read", async () => {
    const database = await opened(openEmptyDatabase());
    const migrations = knownMigrations();
    await migrate(database, undefined, migrations.at(-2));
    await run(database, "create schema data");
    await run(database, "create view data.users as select id, username as name from users");
    await run(database, "comment on schema data is 'x (views 1, 0123456789abcdef)'");
    await migrate(database);
    expect(await columnsOf(database, "users")).toEqual([]);
    await makeViews(database, makes());
    expect(await columnsOf(database, "users")).toContain("role");
  });
});
