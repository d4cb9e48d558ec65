import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type DatasetPatch,
  deleteDataset,
  updateDataset,
} from "../../../src/data/datasets/change-dataset.ts";
import type { Dataset } from "../../../src/data/datasets/datasets.ts";
import { findView } from "../../../src/data/views/list-views.ts";
import type { Database } from "../../../src/db/database.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  createOwnDatabase,
  type OwnDatabase,
  openEmbeddedInMemory,
  openedKind,
} from "../../support/servers/databases/test-database.ts";
import { type DatasetStage, openDatasetStage } from "../datasets/dataset-stage.ts";

const COLUMNS = [
  { name: "n", type: "integer" },
  { name: "Name", type: "text" },
  { name: "paid", type: "decimal" },
  { name: "at", type: "timestamp" },
  { name: "facts", type: "json" },
] as const;
const MINUTE = 60_000;
const KINDS =
  openedKind === "embedded" ? (["embedded"] as const) : (["postgres", "embedded"] as const);

describe.each(KINDS)("the view of a dataset on %s", (kind) => {
  let own: OwnDatabase | undefined;
  let database: Database;
  let stage: DatasetStage;
  const made: string[] = [];
  beforeAll(async () => {
    own = kind === "postgres" ? await createOwnDatabase() : undefined;
    database =
      own === undefined
        ? await openEmbeddedInMemory()
        : await openPostgres(
            own.url,
            { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: 10_000 },
            createLog("error"),
          );
    const onViewMade = async (_: unknown, name: string) => void made.push(name);
    stage = await openDatasetStage(database, { moveRows: 1_500, onViewMade });
  });
  afterAll(async () => {
    await stage.close();
    await database.close();
    await own?.drop();
  });

  const read = (name: string) =>
    database.db.execute(sql.raw(`select * from data."${name}" order by n`));
  const count = async (name: string) => {
    const [row] = await database.db.execute(
      sql.raw(`select count(*)::int as rows from data."${name}"`),
    );
    return row?.["rows"];
  };
  const views = async () => {
    const found = await database.db.execute<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'data'::regnamespace",
    );
    return Array.from(found, ({ name }) => name);
  };
  const newName = () => `t_${randomBase62(12).toLowerCase()}`;
  const actor = () => ({ caller: stage.owner, address: null, requestId: "req_1" });
  const update = ({ id }: Dataset, fields: DatasetPatch) =>
    updateDataset(stage.datasets.store, actor(), { id, fields });
  const rows = (amount: number) => Array.from({ length: amount }, (_, n) => ({ n }));

  it("comes with the dataset, with its columns only, their types and what they are", async () => {
    const dataset = await stage.create({
      columns: COLUMNS,
      key: ["n"],
      description: "It's \\ all",
    });
    await stage.write(dataset, "append", [{ n: 1, Name: "a", paid: "1.50", facts: { a: 1 } }]);
    expect([...(await read(dataset.name))]).toEqual([
      { n: "1", Name: "a", paid: "1.50", at: null, facts: { a: 1 } },
    ]);
    const found = await database.db.execute(sql`
      select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment,
        obj_description(attrelid, 'pg_class') as about
      from pg_attribute where attrelid = to_regclass(${`data."${dataset.name}"`}) and attnum > 0 order by attnum`);
    const view = await findView(database.db, dataset.name);
    expect([...found]).toEqual(
      view?.columns.map(({ name, type, comment }) => ({
        ...{ name, type, comment },
        about: "It's \\ all",
      })),
    );
    expect(view?.columns.map(({ comment }) => comment)).toEqual([
      "integer, part of the key",
      ...["text", "decimal", "timestamp", "json"],
    ]);
    expect(made).toContain(dataset.name);
  });

  it("follows small and large loads, upserts and replacements, and is not made again by them", async () => {
    const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
    await stage.write(dataset, "append", rows(10));
    await stage.write(
      dataset,
      "append",
      rows(2_000).map(({ n }) => ({ n: n + 10 })),
    );
    expect(await count(dataset.name)).toBe(2_010);
    await stage.write(dataset, "upsert", [{ n: 3, Name: "new" }]);
    expect((await read(dataset.name))[3]).toMatchObject({ n: "3", Name: "new" });
    await stage.write(dataset, "upsert", rows(1_800));
    expect(await count(dataset.name)).toBe(2_010);
    await stage.write(dataset, "replace", rows(5));
    expect(await count(dataset.name)).toBe(5);
    expect(made.filter((name) => name === dataset.name)).toHaveLength(1);
  });

  it("gets columns at its end, a new text and a new name", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await update(dataset, { addColumns: [{ name: "z", type: "date" }], description: "New" });
    const [row] = await database.db.execute<{ about: string; last: string }>(sql`
      select obj_description(attrelid, 'pg_class') as about, attname as last from pg_attribute
      where attrelid = to_regclass(${`data."${dataset.name}"`}) order by attnum desc limit 1`);
    expect(row).toEqual({ about: "New", last: "z" });
    const name = newName();
    await update(dataset, { name });
    expect(await views()).toContain(name);
    expect(await views()).not.toContain(dataset.name);
    // Another one may have the name now, of any columns.
    await stage.create({ name: dataset.name, columns: [{ name: "n", type: "text" }] });
    expect([...(await read(dataset.name))]).toEqual([]);
    await deleteDataset(stage.datasets.store, actor(), dataset.id);
    expect(await views()).not.toContain(name);
  });

  it("is undone with the change that it belongs to", async () => {
    const name = newName();
    await expect(
      stage.create({ name, columns: [{ name: "n", type: "integer" }], visibility: "everyone" }),
    ).rejects.toThrow();
    expect(await views()).not.toContain(name);
  });

  it("does not matter to loads while the schema is gone, and is made again", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await database.db.execute("drop schema data cascade");
    await stage.write(dataset, "replace", rows(3));
    const other = await stage.create({ columns: COLUMNS });
    const { openViews } = await import("../../../src/data/views/open-views.ts");
    await openViews({ database, clock: { now: () => Date.now() }, log: createLog("silent") });
    expect(await count(dataset.name)).toBe(3);
    expect(await count(other.name)).toBe(0);
  });

  it.runIf(kind === "postgres")(
    "shows a replacement later when it is being read, and the load waits for no reader",
    async () => {
      const dataset = await stage.create({ columns: COLUMNS });
      await stage.write(dataset, "append", rows(7));
      const reader = postgres(own?.url ?? "", { max: 1, onnotice: () => undefined });
      const report = await reader.reserve();
      await report.unsafe("begin");
      const seen = () => report.unsafe(`select count(*)::int as rows from data."${dataset.name}"`);
      expect([...(await seen())]).toEqual([{ rows: 7 }]);
      const from = performance.now();
      await stage.write(dataset, "replace", rows(4));
      expect(performance.now() - from).toBeLessThan(10_000);
      expect([...(await seen())]).toEqual([{ rows: 7 }]);
      // The table before stays as long as the view reads it.
      stage.passTime(25 * MINUTE);
      await stage.runJob("dataset_orphans");
      await stage.runJob("data_views");
      expect([...(await seen())]).toEqual([{ rows: 7 }]);
      expect(await stage.tables(dataset)).toHaveLength(2);
      await report.unsafe("commit");
      await stage.runJob("data_views");
      expect([...(await seen())]).toEqual([{ rows: 4 }]);
      await stage.runJob("dataset_orphans");
      expect(await stage.tables(dataset)).toHaveLength(1);
      report.release();
      await reader.end();
    },
  );

  it.runIf(kind === "postgres")(
    "of a deleted dataset that is being read is closed to others at once, and its name is not given away",
    async () => {
      const dataset = await stage.create({ columns: COLUMNS });
      const role = `reader_${randomBase62(8).toLowerCase()}`;
      const run = (text: string) => database.db.execute(sql.raw(text));
      await run(`create role ${role} login`);
      await run(`grant usage on schema data to ${role}`);
      await run(`grant select on data."${dataset.name}" to ${role}`);
      const url = new URL(own?.url ?? "");
      url.username = role;
      const [one, other] = [1, 2].map(() =>
        postgres(url.href, { max: 1, onnotice: () => undefined }),
      );
      const query = `select count(*)::int as rows from data."${dataset.name}"`;
      const report = await one?.reserve();
      await report?.unsafe("begin");
      await report?.unsafe(query);
      await deleteDataset(stage.datasets.store, actor(), dataset.id);
      await expect(other?.unsafe(query)).rejects.toMatchObject({ code: "42501" });
      await expect(stage.create({ name: dataset.name, columns: COLUMNS })).rejects.toMatchObject({
        code: "storage_unavailable",
      });
      await report?.unsafe("commit");
      await stage.runJob("data_views");
      expect(await views()).not.toContain(dataset.name);
      report?.release();
      await one?.end();
      await other?.end();
      await run(`drop owned by ${role}`);
      await run(`drop role ${role}`);
    },
  );
});
