import { eq, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { fireEvents } from "../../queue/internal-events.ts";
import { refuseNewDataset } from "./change-dataset.ts";
import { type DatasetRow, type DatasetStore, noDataset, tooManyRows } from "./dataset-store.ts";
import {
  attachPart,
  columnList,
  createDatasetTable,
  definitionOf,
  newTableName,
  setTableState,
  tableOf,
} from "./dataset-tables.ts";
import type { Dataset, DatasetChange, DatasetWriter } from "./datasets.ts";
import { changedMeanwhile } from "./read-rows.ts";
import type { Rewritten } from "./rewrite-dataset.ts";
import { type NumberedRow, rowsAsTable, sameKey } from "./stage-rows.ts";

/** The dataset that a load began with. `isNew`: the commit inserts its record. */
export interface LoadTarget {
  readonly dataset: DatasetRow;
  readonly isNew: boolean;
}

/** The rows of a load: in memory, or in a table of their own. */
export type Staged =
  | { readonly rows: readonly NumberedRow[] }
  | { readonly table: string; readonly count: number };

export interface CommittedLoad {
  readonly target: LoadTarget;
  readonly change: DatasetChange;
  readonly staged: Staged;
  /** Of a large upsert. */
  readonly rewritten: Rewritten | undefined;
  readonly writer: DatasetWriter | null;
}

/** Applies a load in a transaction, which may run again. Its statements stay short, however large the load is. */
export async function commitLoad(
  store: DatasetStore,
  transaction: Db,
  load: CommittedLoad,
): Promise<Dataset> {
  const { target, change, writer } = load;
  const before = target.isNew
    ? await insertRecord(store, transaction, target.dataset)
    : await lockRecord(transaction, target.dataset.id);
  // The columns of the load are those of its beginning, and columns are only ever added.
  const version = target.isNew ? 1 : before.version + 1;
  const replaced = change === "replace" && !target.isNew;
  const { table, removed } = await placeOf(store, transaction, { load, before, version });
  const written = await write(store, transaction, { load, before, table, version });
  const rows = (replaced ? 0 : before.rows - removed) + written;
  if (rows > store.maxRows) throw tooManyRows(store);
  if (table !== before.tableName) {
    await setTableState(transaction, before.tableName, { kind: "retired", at: store.clock.now() });
  }
  const updatedAt = new Date(store.clock.now());
  const set = { version, rows, tableName: table, updatedAt };
  await transaction.update(datasets).set(set).where(eq(datasets.id, before.id));
  const after = { ...before, ...set };
  if (target.isNew || table !== before.tableName) await store.views.show(transaction, after);
  const body = {
    ...{ dataset: before.id, dataset_name: before.name, change, rows: written, version },
    ...{ run_id: writer?.runId ?? null, chain: writer?.chain ?? [] },
  };
  await fireEvents(transaction, [{ kind: "dataset.updated", body }], store.clock.now());
  return after;
}

async function lockRecord(transaction: Db, id: string): Promise<DatasetRow> {
  const found = transaction.select().from(datasets).where(eq(datasets.id, id)).for("update");
  const [row] = await found;
  if (row === undefined) throw noDataset();
  return row;
}

async function insertRecord(
  store: DatasetStore,
  transaction: Db,
  dataset: DatasetRow,
): Promise<DatasetRow> {
  await refuseNewDataset(transaction, dataset.name);
  await createDatasetTable(transaction, dataset.tableName, dataset);
  const createdAt = new Date(store.clock.now());
  const row = { ...dataset, createdAt, updatedAt: createdAt };
  await transaction
    .insert(datasets)
    .values({ ...row, columns: [...row.columns], key: [...row.key] });
  return row;
}

interface Commit {
  readonly load: CommittedLoad;
  readonly before: DatasetRow;
  readonly version: number;
}

/** Decides which table takes the rows, and removes those that an upsert replaces. */
async function placeOf(
  store: DatasetStore,
  transaction: Db,
  { load, before, version }: Commit,
): Promise<{ readonly table: string; readonly removed: number }> {
  const { target, change, staged, rewritten } = load;
  if (target.isNew || change === "append") return { table: before.tableName, removed: 0 };
  if (change === "replace") {
    const table = newTableName(before.id);
    await createDatasetTable(transaction, table, before);
    return { table, removed: 0 };
  }
  if (rewritten !== undefined) {
    const { version, columns } = rewritten;
    if (version !== before.version || columns !== before.columns.length) throw changedMeanwhile();
    await setTableState(transaction, rewritten.table, null);
    return { table: rewritten.table, removed: before.rows - rewritten.rows };
  }
  if ("table" in staged && staged.count > store.moveRows) throw changedMeanwhile();
  const given =
    "table" in staged ? tableOf(staged.table) : rowsAsTable(target.dataset.columns, staged.rows);
  const keys = columnList(before.key.map((name) => ({ name })));
  const removed = await transaction.execute(sql`
    update ${tableOf(before.tableName)} as known set _gone = ${version}
    from (select distinct ${keys} from ${given} as rows) as given
    where known._gone is null and ${sameKey(before.key, sql`known`, sql`given`)}`);
  return { table: before.tableName, removed: countOf(removed) };
}

/** Returns the number of rows that were written. */
async function write(
  store: DatasetStore,
  transaction: Db,
  { load, before, version, table }: Commit & { readonly table: string },
): Promise<number> {
  const { target, change, staged } = load;
  const { columns, key } = target.dataset;
  if ("table" in staged && staged.count > store.moveRows) {
    const added = before.columns.slice(columns.length).map(definitionOf);
    for (const column of added) {
      await transaction.execute(sql`alter table ${tableOf(staged.table)} add column ${column}`);
    }
    await attachPart(transaction, { table, part: staged.table, version });
    return staged.count;
  }
  const names = columnList(columns);
  const given = "table" in staged ? tableOf(staged.table) : rowsAsTable(columns, staged.rows);
  const keys = columnList(key.map((name) => ({ name })));
  // In a load of an upsert, the later row wins. A table of such a load has each key once.
  const rows =
    change === "upsert"
      ? sql`(select distinct on (${keys}) _row, ${names} from ${given} as given order by ${keys}, _row desc)`
      : given;
  const inserted = await transaction.execute(sql`
    insert into ${tableOf(table)} (_load, _row, ${names})
    select ${version}, _row, ${names} from ${rows} as rows order by _row`);
  if ("table" in staged) {
    await transaction.execute(sql`drop table ${tableOf(staged.table)}`);
  }
  return countOf(inserted);
}

/** The number of rows that a statement wrote, as the driver has it. */
function countOf(result: unknown): number {
  if (typeof result === "object" && result !== null && "count" in result)
    return Number(result.count);
  throw new ServiceError("internal_error", "The database did not tell how many rows it wrote.");
}
