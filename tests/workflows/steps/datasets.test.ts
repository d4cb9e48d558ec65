import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { datasets as records } from "../../../src/db/tables/datasets.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { StepFailure } from "../../../src/workflows/runs/run.ts";
import { datasetReadStep } from "../../../src/workflows/steps/dataset-read.ts";
import { datasetWriteStep } from "../../../src/workflows/steps/dataset-write.ts";
import type { StepKind } from "../../../src/workflows/steps/step-kind.ts";
import {
  addCaller,
  type DatasetStage,
  openDatasetStage,
} from "../../data/datasets/dataset-stage.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { rowOf } from "../../support/workflows/row-of.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

const COLUMNS = [
  { name: "n", type: "integer" },
  { name: "price", type: "decimal" },
] as const;
const ROWS = Array.from({ length: 2_500 }, (_, n) => ({ n, price: `${n}.50` }));

let database: Database;
let stage: DatasetStage;
let read: StepKind;
let write: StepKind;

beforeAll(async () => {
  database = await openTestDatabase();
  stage = await openDatasetStage(database, { moveRows: 1_500 });
  const { datasets } = stage;
  read = datasetReadStep({
    datasets,
    database,
    rowProcess: {
      run: () => {
        throw new Error("not asked for");
      },
      // The test's own condition, in the place of the expression.
      evaluate: async (_, rows) =>
        rows.map((row) => {
          const { n } = rowOf(row);
          if (n === 13) return { error: { code: "x", message: "bad" } };
          if (n === 14) return { values: { where: "yes" } };
          return { values: { where: n === 15 ? null : n === 7 } };
        }),
      parse: () => {
        throw new Error("not asked for");
      },
      rewrite: () => {
        throw new Error("not asked for");
      },
      check: async () => [],
      close: () => undefined,
    },
  });
  write = datasetWriteStep({ datasets, database });
});
afterAll(async () => {
  await stage.close();
  await database.close();
});

const run = (kind: StepKind, given: StepCase) =>
  runStep(kind, { database, ...given, run: { ownerId: stage.owner.ownerId, ...given.run } });
const ownName = () => `t_${Math.random().toString(36).slice(2)}`;

describe("dataset_read", () => {
  it("reads every row in order, with the types of JSON", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", ROWS);
    const { outputs } = await run(read, { settings: { dataset: dataset.name } });
    expect(outputs.main).toEqual(ROWS);
  });

  it("reads at most `limit` rows, of those for which `where` is true", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    await stage.write(dataset, "append", ROWS.slice(0, 10));
    const limited = await run(read, { settings: { dataset: dataset.id, limit: 3 } });
    expect(limited.outputs.main).toEqual(ROWS.slice(0, 3));
    const chosen = await run(read, { settings: { dataset: dataset.id, where: "row.n == 7" } });
    expect(chosen.outputs.main).toEqual([ROWS[7]]);
    await stage.write(dataset, "append", ROWS.slice(13, 14));
    const failing = run(read, { settings: { dataset: dataset.id, where: "row.n == 7" } });
    await expect(failing).rejects.toMatchObject({ name: "StepFailure", row: 11 });
  });

  it("takes null for false, and no other value that is neither true nor false", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const settings = { dataset: dataset.id, where: "row.text" };
    await stage.write(dataset, "append", ROWS.slice(15, 16));
    expect((await run(read, { settings })).outputs.main).toEqual([]);
    await stage.write(dataset, "append", ROWS.slice(14, 15));
    await expect(run(read, { settings })).rejects.toMatchObject({
      ...{ name: "StepFailure", code: "expression_failed", row: 2 },
      message: expect.stringContaining("'row.text' is neither true nor false"),
    });
  });

  it("reads what its owner may read, and nothing else", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const { ownerId } = await addCaller(database, "user");
    const failing = run(read, { settings: { dataset: dataset.name }, run: { ownerId } });
    await expect(failing).rejects.toMatchObject({ code: "not_found", isRetryable: false });
    const ownerless = run(read, { settings: { dataset: dataset.name }, run: { ownerId: null } });
    await expect(ownerless).rejects.toBeInstanceOf(StepFailure);
    const shared = { visibility: "everyone" as const };
    await database.db.update(records).set(shared).where(eq(records.id, dataset.id));
    await run(read, { settings: { dataset: dataset.name }, run: { ownerId } });
  });
});

describe("dataset_write", () => {
  it.each(["append", "replace", "upsert"] as const)(
    "does %s with the end of the step",
    async (mode) => {
      const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
      await stage.write(dataset, "append", ROWS.slice(0, 2));
      const runId = `run_${ownName()}`;
      const outcome = await run(write, {
        settings: { dataset: dataset.name, mode },
        rows: ROWS.slice(1),
        run: { id: runId, workflowId: "wf_own", chain: ["wf_before"] },
      });
      expect(outcome).toMatchObject({ committed: true, rowErrors: 0 });
      expect(outcome.outputs.main).toEqual(ROWS.slice(1));
      const rows = await stage.rows(dataset);
      expect(rows).toHaveLength({ append: 2_501, replace: 2_499, upsert: 2_500 }[mode]);
      const bodies = (await database.db.select().from(outboxEvents)).map(({ body }) => body);
      expect(bodies.filter((body) => body["run_id"] === runId)).toEqual([
        expect.objectContaining({
          change: mode,
          chain: ["wf_before", "wf_own"],
          rows: 2_499,
          version: 3,
        }),
      ]);
    },
  );

  it("creates the dataset with its first rows, with columns that are given or follow from them", async () => {
    const name = ownName();
    const settings = { dataset: name, mode: "upsert", create: { key: ["n"] } };
    await run(write, { settings, rows: ROWS.slice(0, 10) });
    await run(write, { settings, rows: ROWS.slice(5, 12) });
    const made = await stage.datasets.find(stage.owner, name);
    expect(made).toMatchObject({ rows: 12, version: 2, key: ["n"] });
    expect(made.columns).toEqual([
      { name: "n", type: "integer" },
      { name: "price", type: "text" },
    ]);
    const given = { dataset: ownName(), create: { columns: COLUMNS } };
    await run(write, { settings: given, rows: [] });
    expect(await stage.datasets.find(stage.owner, given.dataset)).toMatchObject({
      columns: COLUMNS,
      rows: 0,
    });
  });

  it("treats rows that the dataset cannot take as on_row_error says", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const rows: Row[] = [{ n: 1 }, { n: "x" }, { n: 3, other: 1 }, { n: 4 }];
    const settings = { dataset: dataset.id };
    await expect(run(write, { settings, rows })).rejects.toMatchObject({
      row: 2,
      message: expect.stringContaining("'n': expected a whole number"),
    });
    expect(await stage.rows(dataset)).toEqual([]);
    const routed = await run(write, { settings, rows, onRowError: "route" });
    expect(routed.rowErrors).toBe(2);
    expect(routed.outputs.main).toEqual([{ n: 1 }, { n: 4 }]);
    expect(routed.outputs["errors"]).toMatchObject([{ n: "x", _error: { row: 2 } }, { n: 3 }]);
    expect((await stage.rows(dataset)).map(({ n }) => n)).toEqual([1, 4]);
  });

  it("tells in a test what it would do, and does nothing", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const settings = { dataset: dataset.name };
    const outcome = await run(write, { settings, rows: ROWS.slice(0, 3), isTest: true });
    expect(outcome).toMatchObject({
      committed: false,
      told: [expect.stringContaining("append 3 rows")],
    });
    expect(await stage.rows(dataset)).toEqual([]);
  });

  it("leaves nothing of a try that failed, and a second try writes once", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const before = await stage.tables(dataset);
    const settings = { dataset: dataset.name };
    const failing = {
      db: {
        transaction: () => Promise.reject(new Error("the worker has lost the run")),
      } as unknown as Database["db"],
    };
    await expect(run(write, { settings, rows: ROWS, database: failing })).rejects.toThrow("lost");
    expect(await stage.tables(dataset)).toEqual(before);
    await run(write, { settings, rows: ROWS, attempt: 2 });
    expect(await stage.rows(dataset)).toEqual(ROWS);
  });

  it("is refused where the owner may not write", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const shared = { visibility: "everyone" as const };
    await database.db.update(records).set(shared).where(eq(records.id, dataset.id));
    const { ownerId } = await addCaller(database, "user");
    const failing = run(write, { settings: { dataset: dataset.id }, run: { ownerId } });
    await expect(failing).rejects.toMatchObject({ code: "insufficient_permission" });
  });

  it("takes a name for an own dataset, so that nobody gets an administrator's rows by taking it first", async () => {
    const taken = await stage.create({ columns: COLUMNS });
    const { ownerId: other } = await addCaller(database, "user");
    const admin = await addCaller(database, "admin");
    const as = { ownerId: admin.ownerId };
    const check = async (kind: StepKind, dataset: string, more: object = {}) =>
      kind.check?.(kind.schema.parse({ dataset, ...more }), { owner: admin } as never);
    const own = (ownerId: string | null, visibility: "private" | "everyone") =>
      database.db.update(records).set({ ownerId, visibility }).where(eq(records.id, taken.id));
    const byName = { dataset: taken.name, create: {} };
    const message = expect.stringContaining("name it by its id");
    const refused = { code: "invalid_value", isRetryable: false, message };
    for (const ownerId of [other, null]) {
      await own(ownerId, "private");
      expect(await check(write, taken.name, { create: {} })).toMatchObject([
        { field: "dataset", message },
      ]);
      expect(await check(read, taken.name)).toMatchObject([{ field: "dataset", message }]);
      const writing = run(write, { settings: byName, rows: ROWS.slice(0, 1), run: as });
      await expect(writing).rejects.toMatchObject(refused);
      const reading = run(read, { settings: { dataset: taken.name }, run: as });
      await expect(reading).rejects.toMatchObject(refused);
    }
    await own(other, "everyone");
    await expect(run(write, { settings: byName, run: as })).rejects.toMatchObject(refused);
    expect(await check(read, taken.name)).toEqual([]);
    expect(await stage.rows(taken)).toEqual([]);
    await own(other, "private");
    expect(await check(write, taken.id)).toEqual([]);
    await run(write, { settings: { dataset: taken.id }, rows: ROWS.slice(0, 1), run: as });
    const byId = await run(read, { settings: { dataset: taken.id }, run: as });
    expect(byId.outputs.main).toEqual(ROWS.slice(0, 1));
    await own(admin.ownerId, "private");
    await run(write, { settings: byName, rows: ROWS.slice(1, 2), run: as });
    expect(await stage.rows(taken)).toEqual(ROWS.slice(0, 2));
  });

  it("is checked when the workflow is saved", async () => {
    const dataset = await stage.create({ columns: COLUMNS });
    const check = async (given: object) =>
      write.check?.(write.schema.parse(given), { owner: stage.owner } as never);
    expect(await check({ dataset: dataset.name })).toEqual([]);
    expect(await check({ dataset: "unknown_one" })).toMatchObject([{ field: "dataset" }]);
    expect(await check({ dataset: dataset.name, mode: "upsert" })).toMatchObject([
      { field: "mode" },
    ]);
    expect(await check({ dataset: "Not a name", create: {} })).toMatchObject([
      { field: "dataset" },
    ]);
    expect(await check({ dataset: "runs", create: {} })).toMatchObject([{ field: "dataset" }]);
    expect(await check({ dataset: "new_one", mode: "upsert", create: {} })).toMatchObject([
      { field: "create.key" },
    ]);
    const columns = [{ name: "ctid", type: "text" }];
    expect(await check({ dataset: "new_one", create: { columns } })).toMatchObject([
      { field: "create.columns[0].name" },
    ]);
    expect(await check({ dataset: "new_one", create: { key: ["n"] }, mode: "upsert" })).toEqual([]);
  });
});
