import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateDataset } from "../../../src/data/datasets/change-dataset.ts";
import { createLoad } from "../../../src/data/datasets/dataset-load.ts";
import { listOtherTables } from "../../../src/data/datasets/dataset-tables.ts";
import type { DatasetLoad } from "../../../src/data/datasets/datasets.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { datasets as records } from "../../../src/db/tables/datasets.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { type DatasetStage, openDatasetStage } from "./dataset-stage.ts";

const MINUTE = 60_000;
/** Small, so that a load of some thousand rows becomes a part. */
const MOVE_ROWS = 1_500;

let database: Database;
let stage: DatasetStage;

beforeAll(async () => {
  database = await openTestDatabase();
  stage = await openDatasetStage(database, { moveRows: MOVE_ROWS });
});
afterAll(async () => {
  await stage.close();
  await database.close();
});

const numbered = (from: number, to: number): JsonObject[] =>
  Array.from({ length: to - from }, (_, index) => ({
    n: from + index,
    name: `row ${from + index}`,
  }));
const COLUMNS = [
  { name: "n", type: "integer" },
  { name: "name", type: "text" },
] as const;
const numbers = (rows: readonly JsonObject[]) => rows.map(({ n }) => n);
const sequence = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => from + i);
const commit = (load: DatasetLoad) =>
  database.askOwn((db) => withTransaction(db, (transaction) => load.commit(transaction, null)));

describe("a dataset takes a value only where nothing of it is lost", () => {
  const TYPES = {
    text: [
      ["a text", "a text"],
      [12.5, "12.5"],
      [true, "true"],
      ["", ""],
    ],
    integer: [
      [12, 12],
      ["12", 12],
      [12.0, 12],
      ["-0012", -12],
      ["9223372036854775807", "9223372036854775807"],
      ["-9223372036854775808", "-9223372036854775808"],
      ["9007199254740991", 9007199254740991],
    ],
    decimal: [
      ["12.50", "12.50"],
      [0.1, "0.1"],
      ["123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789"],
      ["1e3", "1000"],
      [".5", "0.5"],
    ],
    number: [
      [12.5, 12.5],
      ["1e-300", 1e-300],
      ["-0.00e-400", 0],
      [0.1 + 0.2, 0.30000000000000004],
    ],
    boolean: [
      [true, true],
      ["FALSE", false],
    ],
    date: [
      ["2026-11-23", "2026-11-23"],
      ["2024-02-29", "2024-02-29"],
      ["0001-01-01", "0001-01-01"],
    ],
    timestamp: [
      ["2026-11-23T14:05:00Z", "2026-11-23T14:05:00.000Z"],
      ["2026-11-23 14:05:00.1234567+05:30", "2026-11-23T08:35:00.123456Z"],
      ["2026-11-23T14:05", "2026-11-23T14:05:00.000Z"],
      ["2026-11-23", "2026-11-23T00:00:00.000Z"],
      ["2026-01-01T00:30:00+01", "2025-12-31T23:30:00.000Z"],
      ["0001-01-01T15:00:00+15:00", "0001-01-01T00:00:00.000Z"],
      ["0001-01-01T00:00:00-15:00", "0001-01-01T15:00:00.000Z"],
      ["9999-12-31T08:59:59.999999-15:00", "9999-12-31T23:59:59.999999Z"],
    ],
    json: [
      [{ a: [1, "x", null] }, { a: [1, "x", null] }],
      ["a text", "a text"],
      [[], []],
    ],
  } as const;

  for (const [type, cases] of Object.entries(TYPES)) {
    it(`${type}: each value is read as it is written, and nothing stays nothing`, async () => {
      const dataset = await stage.create({ columns: [{ name: "v", type: type as "text" }] });
      await stage.write(dataset, "append", [...cases.map(([v]) => ({ v })), { v: null }, {}]);
      const expected = [...cases.map(([, read]) => read), null, null];
      expect((await stage.rows(dataset)).map(({ v }) => v)).toEqual(expected);
    });
  }

  it.each([
    ["text", "a\0b"],
    ["text", "\ud800"],
    ["text", { a: 1 }],
    ["integer", 12.5],
    ["integer", "12.0"],
    ["integer", 2 ** 53],
    ["integer", "9223372036854775808"],
    ["integer", " 12"],
    ["integer", true],
    ["decimal", "12,50"],
    ["decimal", "NaN"],
    ["decimal", "1e9999"],
    ["number", "1e999"],
    ["number", "Infinity"],
    ["number", "1e-400"],
    ["number", "-0.0001e-330"],
    ["boolean", 1],
    ["boolean", "yes"],
    ["date", "2026-02-29"],
    ["date", "23.11.2026"],
    ["date", "0000-01-01"],
    ["timestamp", "2026-11-23T25:00:00Z"],
    ["timestamp", "2026-11-23T14:05:00+99:00"],
    ["timestamp", "0001-01-01T00:00:00+15:00"],
    ["timestamp", "0001-01-01T14:59:59+15:00"],
    ["timestamp", "9999-12-31T09:00:00-15:00"],
    ["timestamp", 1_790_000_000],
    ["json", { a: "\0" }],
  ] as const)("%s refuses %j with the row, the column and what was expected", async (type, v) => {
    const dataset = await stage.create({ columns: [{ name: "v", type }] });
    const load = await stage.datasets.load(dataset, "append");
    const faults = await load.add([{ v: null }, { v }]);
    expect(faults).toEqual([
      { row: 2, column: "v", message: expect.stringMatching(/^expected .+, received /) },
    ]);
  });

  it("refuses a field that is no column, and a key without a value or too long", async () => {
    const columns = [...COLUMNS];
    const dataset = await stage.create({ columns, key: ["name"] });
    const load = await stage.datasets.load(dataset, "append");
    const hostile = JSON.parse('{"__proto__": 1}') as JsonObject;
    const rows = [{ other: 1 }, hostile, { n: 1 }, { n: 1, name: "x".repeat(2_001) }];
    expect(await load.add(rows)).toMatchObject([
      { row: 1, column: "other" },
      { row: 2, column: "__proto__" },
      { row: 3, column: "name" },
      { row: 4, column: "name" },
    ]);
  });
});

describe("loads", () => {
  it.each([
    ["in memory", 10],
    ["that are moved", 1_200],
    ["that become a part", 3_100],
  ])("%s are appended in their order, with one version and one event each", async (_, size) => {
    const dataset = await stage.create({ columns: COLUMNS });
    const first = await stage.write(dataset, "append", numbered(0, size));
    const second = await stage.write(dataset, "append", numbered(size, size * 2));
    expect([first.rows, first.version, second.rows, second.version]).toEqual([
      size,
      2,
      size * 2,
      3,
    ]);
    expect(numbers(await stage.rows(dataset))).toEqual(sequence(0, size * 2));
    const events = await database.db
      .select({ body: outboxEvents.body })
      .from(outboxEvents)
      .where(sql`${outboxEvents.body}->>'dataset' = ${dataset.id}`);
    expect(events.map(({ body }) => body)).toEqual(
      [2, 3].map((version) => ({
        ...{
          dataset: dataset.id,
          dataset_name: dataset.name,
          change: "append",
          rows: size,
          version,
        },
        ...{ run_id: null, chain: [] },
      })),
    );
  });

  it("of all sizes follow one another in the order of their commits", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const sizes = [5, 2_000, 1_100, 3, 1_700, 1];
    let at = 0;
    for (const size of sizes) {
      await stage.write(dataset, "append", numbered(at, at + size));
      at += size;
    }
    expect(numbers(await stage.rows(dataset))).toEqual(sequence(0, at));
  });

  it("appended at once all appear, each whole", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const sizes = [10, 1_200, 2_000, 7, 1_600];
    await Promise.all(
      sizes.map((size, index) =>
        stage.write(dataset, "append", numbered(index * 10_000, index * 10_000 + size)),
      ),
    );
    const found = numbers(await stage.rows(dataset));
    for (const [index, size] of sizes.entries()) {
      const own = found.filter((n) => Math.floor(Number(n) / 10_000) === index);
      expect(own).toEqual(sequence(index * 10_000, index * 10_000 + size));
    }
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const current = await stage.datasets.find(stage.owner, dataset.id);
    expect([current.rows, current.version]).toEqual([total, 1 + sizes.length]);
  });

  it.each([
    ["in memory", 3],
    ["that are moved", 1_100],
    ["that rewrite the dataset", 2_500],
  ])("upsert by key %s: the later of two rows wins", async (_, size) => {
    const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
    await stage.write(dataset, "append", numbered(0, 2_000));
    await stage.write(dataset, "append", numbered(2_000, 2_010));
    const rows = [
      ...numbered(1_999, 1_999 + size).map((row) => ({ ...row, name: "first" })),
      ...numbered(1_999, 1_999 + size).map((row) => ({ ...row, name: "second" })),
    ];
    const after = await stage.write(dataset, "upsert", rows);
    const found = await stage.rows(dataset);
    const last = Math.max(2_010, 1_999 + size);
    expect(numbers(found).toSorted((left, right) => Number(left) - Number(right))).toEqual(
      sequence(0, last),
    );
    expect(found.filter(({ name }) => name === "second")).toHaveLength(size);
    expect(found.filter(({ name }) => name === "first")).toHaveLength(0);
    expect(after).toMatchObject({ rows: last, version: 4 });
  });

  it("upsert by a key of several columns, equal as the database compares them", async () => {
    const columns = [
      { name: "at", type: "timestamp" },
      { name: "price", type: "decimal" },
      { name: "v", type: "integer" },
    ] as const;
    const dataset = await stage.create({ columns, key: ["at", "price"] });
    await stage.write(dataset, "append", [{ at: "2026-01-01T00:00:00Z", price: "1.0", v: 1 }]);
    await stage.write(dataset, "upsert", [
      { at: "2026-01-01T01:00:00+01:00", price: "1.00", v: 2 },
      { at: "2026-01-01T00:00:00Z", price: 1, v: 3 },
    ]);
    expect((await stage.rows(dataset)).map(({ v }) => v)).toEqual([3]);
  });

  it("that upsert without a key are refused", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await expect(stage.datasets.load(dataset, "upsert")).rejects.toMatchObject({
      code: "invalid_value",
    });
  });

  it.each([10, 1_200, 2_500])("of %i rows replace the whole", async (size) => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", numbered(0, 2_000));
    const after = await stage.write(dataset, "replace", numbered(5_000, 5_000 + size));
    expect(after).toMatchObject({ rows: size, version: 3 });
    expect(numbers(await stage.rows(dataset))).toEqual(sequence(5_000, 5_000 + size));
  });

  it("replace a dataset with nothing", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", numbered(0, 3));
    expect(await stage.write(dataset, "replace", [])).toMatchObject({ rows: 0 });
    expect(await stage.rows(dataset)).toEqual([]);
  });

  it("get the columns that were added while they came", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const loads = await Promise.all(
      [5, 1_200, 2_500].map(async (size) => {
        const load = await stage.datasets.load(dataset, "append");
        await load.add(numbered(0, size));
        return load;
      }),
    );
    const actor = { caller: stage.owner, address: null, requestId: "req_1" };
    const addColumns = [{ name: "later", type: "date" }] as const;
    await updateDataset(stage.datasets.store, actor, { id: dataset.id, fields: { addColumns } });
    for (const load of loads) {
      await load.prepare();
      await commit(load);
      await load.discard();
    }
    const rows = await stage.rows(dataset);
    expect(rows).toHaveLength(3_705);
    expect(rows.every(({ later }) => later === null)).toBe(true);
  });

  it("keep DATASET_MAX_ROWS exactly", async () => {
    const small = await openDatasetStage(database, { moveRows: MOVE_ROWS, maxRows: 2_000 });
    const dataset = await small.create({ columns: COLUMNS, key: ["n"] });
    await small.write(dataset, "append", numbered(0, 1_999));
    await expect(small.write(dataset, "append", numbered(3_000, 3_002))).rejects.toThrow(
      "DATASET_MAX_ROWS",
    );
    await small.write(dataset, "append", numbered(3_000, 3_001));
    await small.write(dataset, "upsert", numbered(0, 2));
    await expect(small.write(dataset, "upsert", numbered(4_000, 4_001))).rejects.toThrow(
      "DATASET_MAX_ROWS",
    );
    await expect(small.write(dataset, "replace", numbered(0, 2_001))).rejects.toThrow(
      "DATASET_MAX_ROWS",
    );
    await small.write(dataset, "replace", numbered(0, 2_000));
    expect(await small.rows(dataset)).toHaveLength(2_000);
    await small.close();
  });

  describe("that rewrite their dataset", () => {
    /** A load of an upsert, with what happens at each step of its rewriting. */
    async function rewriting(atStep: () => void) {
      const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
      await stage.write(dataset, "append", numbered(0, 1_200));
      const ownLoads = new Set<string>();
      const askOwn: typeof database.askOwn = (work) => {
        if (ownLoads.size === 2) atStep();
        return database.askOwn(work);
      };
      const { store } = stage.datasets;
      const given = { ...store, ownLoads, database: { ...store.database, askOwn } };
      const load = createLoad(given, { dataset, isNew: false }, "upsert");
      await load.add(numbered(1_000, 3_000));
      return { dataset, load, ownLoads };
    }

    it("leave nothing where that fails", async () => {
      let isAway = true;
      const { dataset, load, ownLoads } = await rewriting(() => {
        if (isAway) throw new Error("the database is away");
      });
      await expect(load.prepare()).rejects.toThrow("the database is away");
      expect(await stage.tables(dataset)).toHaveLength(3);
      isAway = false;
      await load.discard();
      expect(await stage.tables(dataset)).toEqual([dataset.tableName]);
      expect(ownLoads.size).toBe(0);
    });

    it("leave to the upkeep what they cannot drop", async () => {
      const { dataset, load, ownLoads } = await rewriting(() => {
        throw new Error("the database is away");
      });
      await expect(load.prepare()).rejects.toThrow("the database is away");
      await load.discard();
      expect(ownLoads.size).toBe(0);
      stage.passTime(31 * MINUTE);
      await stage.runJob("dataset_orphans");
      expect(await stage.tables(dataset)).toEqual([dataset.tableName]);
    });

    it("keep both their tables while it takes long", async () => {
      const { dataset, load } = await rewriting(() => stage.passTime(10 * MINUTE));
      await load.prepare();
      const found = (await database.askOwn(listOtherTables)).filter(({ name }) =>
        name.startsWith(dataset.id),
      );
      const now = stage.datasets.store.clock.now();
      expect(found.map(({ state }) => state.at - now > 5 * MINUTE)).toEqual([true, true]);
      await load.discard();
    });
  });

  it("whose dataset is deleted meanwhile write nothing", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const load = await stage.datasets.load(dataset, "append");
    await load.add(numbered(0, 2_000));
    await load.prepare();
    await database.db.delete(records).where(eq(records.id, dataset.id));
    await expect(commit(load)).rejects.toMatchObject({ code: "not_found" });
    await load.discard();
  });

  it("that rewrite a dataset find out that it has changed, and can be prepared again", async () => {
    const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
    await stage.write(dataset, "append", numbered(0, 2_000));
    const load = await stage.datasets.load(dataset, "upsert");
    await load.add(numbered(1_000, 3_500));
    await load.prepare();
    await stage.write(dataset, "append", numbered(9_000, 9_001));
    await expect(commit(load)).rejects.toMatchObject({ code: "changed_meanwhile" });
    await load.prepare();
    expect(await commit(load)).toMatchObject({ rows: 3_501 });
    await load.discard();
    expect(await stage.rows(dataset)).toHaveLength(3_501);
  });

  it("can create their dataset: neither exists without the other", async () => {
    const given = { name: "made_by_a_load", columns: COLUMNS };
    const first = await stage.datasets.loadNew(stage.owner.ownerId, given);
    await first.add(numbered(0, 2_000));
    await first.prepare();
    await first.discard();
    await expect(stage.datasets.find(stage.owner, given.name)).rejects.toMatchObject({
      code: "not_found",
    });
    const second = await stage.datasets.loadNew(stage.owner.ownerId, given);
    await second.add(numbered(0, 2_000));
    await second.prepare();
    const made = await commit(second);
    await second.discard();
    expect(made).toMatchObject({ rows: 2_000, version: 1 });
    expect(await stage.rows(made)).toHaveLength(2_000);
    await expect(stage.datasets.loadNew(stage.owner.ownerId, given)).rejects.toMatchObject({
      code: "invalid_value",
      param: "name",
    });
  });
});

describe("a reader sees the rows as they were when it began", () => {
  it.each(["append", "replace", "upsert"] as const)("while others %s", async (change) => {
    for (const size of [2, 1_100, 2_500]) {
      const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
      await stage.write(dataset, "append", numbered(0, 1_600));
      await stage.write(dataset, "append", numbered(1_600, 2_500));
      const reader = stage.datasets.read(dataset, new AbortController().signal);
      const first = await reader.next();
      const rows = [...(first.value ?? [])];
      const changed = numbered(0, size).map((row) => ({ ...row, name: "changed" }));
      await stage.write(dataset, change, changed);
      for await (const more of reader) rows.push(...more);
      expect(rows).toEqual(numbered(0, 2_500));
    }
  });

  it("and ends with an error that tells so when it is too slow", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", numbered(0, 2_500));
    const reader = stage.datasets.read(dataset, new AbortController().signal);
    await reader.next();
    await stage.write(dataset, "replace", numbered(0, 2));
    stage.passTime(16 * MINUTE);
    await expect(reader.next()).rejects.toMatchObject({ code: "changed_meanwhile" });
  });

  it("and stops at its signal", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", numbered(0, 2_500));
    const stopping = new AbortController();
    const reader = stage.datasets.read(dataset, stopping.signal);
    await reader.next();
    stopping.abort(new Error("stopped"));
    await expect(reader.next()).rejects.toThrow("stopped");
  });
});

describe("what is left over", () => {
  it("of a crashed load is dropped, and its dataset is as before", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", numbered(0, 3));
    const before = await stage.tables(dataset);
    const load = await stage.datasets.load(dataset, "append");
    await load.add(numbered(3, 3_000));
    await load.prepare();
    await stage.runJob("dataset_orphans");
    expect(await stage.tables(dataset)).toHaveLength(before.length + 1);
    // The process has ended, and another one begins.
    stage.datasets.store.ownLoads.clear();
    stage.passTime(31 * MINUTE);
    await stage.runJob("dataset_orphans");
    expect(await stage.tables(dataset)).toEqual(before);
    expect(numbers(await stage.rows(dataset))).toEqual([0, 1, 2]);
    await expect(commit(load)).rejects.toThrow();
    expect(numbers(await stage.rows(dataset))).toEqual([0, 1, 2]);
  });

  it("of discarded loads is nothing, also after a commit that was undone", async () => {
    const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
    const before = await stage.tables(dataset);
    for (const change of ["append", "replace", "upsert"] as const) {
      const load = await stage.datasets.load(dataset, change);
      await load.add(numbered(0, 2_000));
      await load.prepare();
      const undone = database.askOwn((db) =>
        withTransaction(db, async (transaction) => {
          await load.commit(transaction, null);
          throw new Error("undone");
        }),
      );
      await expect(undone).rejects.toThrow("undone");
      await load.discard();
    }
    expect(await stage.tables(dataset)).toEqual(before);
    expect(await stage.rows(dataset)).toEqual([]);
  });

  it("of replaced tables goes when no reader can be at them", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const before = await stage.tables(dataset);
    await stage.write(dataset, "append", numbered(0, 2_000));
    await stage.write(dataset, "replace", numbered(0, 2));
    await stage.runJob("dataset_orphans");
    expect((await stage.tables(dataset)).length).toBe(before.length + 2);
    stage.passTime(21 * MINUTE);
    await stage.runJob("dataset_orphans");
    expect((await stage.tables(dataset)).length).toBe(before.length);
    expect(await stage.rows(dataset)).toHaveLength(2);
  });

  it("of upserts goes when no reader can need it", async () => {
    const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
    await stage.write(dataset, "append", numbered(0, 2_500));
    await stage.write(dataset, "upsert", numbered(0, 1_200));
    const { tableName } = dataset;
    const stored = async () =>
      Number(
        (
          await database.db.execute(sql`select count(*) from datasets.${sql.identifier(tableName)}`)
        )[0]?.["count"],
      );
    await stage.runJob("dataset_gone_rows");
    expect(await stored()).toBe(3_700);
    stage.passTime(21 * MINUTE);
    await stage.runJob("dataset_gone_rows");
    expect(await stored()).toBe(2_500);
    expect(await stage.rows(dataset)).toHaveLength(2_500);
  });
});
