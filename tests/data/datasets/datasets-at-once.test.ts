import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { DatasetPatch } from "../../../src/data/datasets/change-dataset.ts";
import { updateDataset } from "../../../src/data/datasets/change-dataset.ts";
import { type Db, withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { datasets as records } from "../../../src/db/tables/datasets.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { openedKind, openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { type DatasetStage, openDatasetStage } from "./dataset-stage.ts";

const MINUTE = 60_000;
const COLUMNS = [{ name: "n", type: "integer" }] as const;

const sequence = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => from + i);

// The embedded database has one session, and so one transaction at a time.
describe.runIf(openedKind === "postgres")("two transactions at a dataset", () => {
  let database: Database;
  let stage: DatasetStage;

  beforeAll(async () => {
    database = await openTestDatabase();
    stage = await openDatasetStage(database, { moveRows: 1_500 });
  });
  afterAll(async () => {
    await stage.close();
    await database.close();
  });

  const numbers = async (dataset: Parameters<DatasetStage["rows"]>[0]) =>
    (await stage.rows(dataset)).map(({ n }) => n);
  const update = (id: string, fields: DatasetPatch) =>
    updateDataset(
      stage.datasets.store,
      { caller: stage.owner, address: null, requestId: "req_1" },
      { id, fields },
    );
  const inTransaction = (work: (transaction: Db) => Promise<void>) =>
    database.askOwn((db) => withTransaction(db, work));

  /** Runs `first` in a transaction that commits once `second` waits for it. Returns what `second` answers or throws. */
  async function beside(
    first: (transaction: Db) => Promise<unknown>,
    second: () => Promise<unknown>,
  ) {
    let commit: () => void = () => undefined;
    const committing = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let committed = Promise.resolve();
    const pid = await new Promise<unknown>((begun, failed) => {
      committed = inTransaction(async (transaction) => {
        await first(transaction);
        const [row] = await transaction.execute(sql`select pg_backend_pid() as pid`);
        begun(row?.["pid"]);
        await committing;
      });
      committed.catch(failed);
    });
    const outcome = second().catch((thrown: unknown) => thrown);
    await vi.waitUntil(async () => {
      const waiting = await database.db.execute(
        sql`select 1 from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`,
      );
      return waiting.length > 0;
    });
    commit();
    await committed;
    return outcome;
  }

  describe("keep the rows of a load whose commit is under way", () => {
    async function prepared(change: "append" | "upsert") {
      const dataset = await stage.create({ columns: COLUMNS, key: ["n"] });
      const rows = sequence(0, 3_200).map((n) => ({ n }));
      await stage.write(dataset, "append", rows.slice(0, 1_600));
      const load = await stage.datasets.load(dataset, change);
      await load.add(rows.slice(1_600));
      await load.prepare();
      return { dataset, load };
    }

    it.each(["append", "upsert"] as const)("and whose caller discards it: %s", async (change) => {
      const { dataset, load } = await prepared(change);
      await beside(
        (transaction) => load.commit(transaction, null),
        () => load.discard(),
      );
      expect(await numbers(dataset)).toEqual(sequence(0, 3_200));
    });

    it("and whose table the upkeep finds", async () => {
      const { dataset, load } = await prepared("append");
      stage.datasets.store.ownLoads.clear();
      stage.passTime(31 * MINUTE);
      await beside(
        (transaction) => load.commit(transaction, null),
        () => stage.runJob("dataset_orphans"),
      );
      await load.discard();
      expect(await numbers(dataset)).toEqual(sequence(0, 3_200));
    });
  });

  it("change none that is being deleted", async () => {
    const { id, name } = await stage.create({ columns: COLUMNS });
    const outcome = await beside(
      async (transaction) => {
        await transaction.delete(records).where(eq(records.id, id));
        await stage.datasets.store.views.hide(transaction, name);
      },
      () => update(id, { description: "new" }),
    );
    expect(outcome).toMatchObject({ code: "not_found" });
    const [row] = await database.db.execute(sql`select to_regclass(${`data.${name}`}) as view`);
    expect(row).toEqual({ view: null });
  });

  describe("give a name once", () => {
    const newName = () => `once_${randomBase62(12).toLowerCase()}`;
    /** Prepares the commit of a load that creates its dataset. */
    async function creating(name: string) {
      const load = await stage.datasets.loadNew(stage.owner.ownerId, { name, columns: COLUMNS });
      await load.prepare();
      return async (transaction: Db) => {
        await load.commit(transaction, null);
      };
    }

    it.each([
      ["creation", async (name: string) => () => stage.create({ name, columns: COLUMNS })],
      [
        "load",
        async (name: string) => {
          const create = await creating(name);
          return () => inTransaction(create);
        },
      ],
      [
        "new name",
        async (name: string) => {
          const { id } = await stage.create({ columns: COLUMNS });
          return () => update(id, { name });
        },
      ],
    ] as const)("and refuse it to a %s", async (_kind, prepare) => {
      const name = newName();
      const second = await prepare(name);
      const outcome = await beside(await creating(name), second);
      expect(outcome).toMatchObject({ code: "invalid_value", param: "name" });
    });
  });
});
