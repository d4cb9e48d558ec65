import { and, count, desc, eq, ilike, or, sql } from "drizzle-orm";
import type { AnyActor } from "../../access/actor.ts";
import { auditDetails } from "../../access/audit/record-audit.ts";
import { type ChangeFrame, change } from "../../access/change.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { escapeLike } from "../../db/escape-like.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { type DatasetColumn, datasets } from "../../db/tables/datasets.ts";
import { randomBase62 } from "../../lib/id.ts";
import { fireEvents } from "../../queue/internal-events.ts";
import { checkColumns, checkDatasetName } from "./columns.ts";
import {
  type DatasetRow,
  type DatasetStore,
  noDataset,
  readableBy,
  readDataset,
  readWritable,
  refuseRestrictedKey,
  refuseSharing,
} from "./dataset-store.ts";
import {
  createDatasetTable,
  definitionOf,
  newTableName,
  setTableState,
  tableOf,
} from "./dataset-tables.ts";
import type { NewDataset } from "./datasets.ts";

const ID_LENGTH = 22;
const DATASETS_MAX = 10_000;
/** How long a new column waits for statements that read the table; afterwards the caller tries again. */
const LOCK_TIMEOUT = "2s";
const NO_LOCK = "55P03";

/** The fields to change. Columns are only ever added. */
export interface DatasetPatch {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly visibility?: "private" | "everyone" | undefined;
  readonly addColumns?: readonly DatasetColumn[] | undefined;
}

export interface DatasetQuery {
  /** A part of the name, or the whole id. */
  readonly search?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Lists the datasets that a caller may read, newest first. */
export function listDatasets(
  { database }: DatasetStore,
  caller: AnyCaller,
  { search, limit, offset }: DatasetQuery,
): Promise<{ readonly datasets: readonly DatasetRow[]; readonly total: number }> {
  const isFound =
    search === undefined
      ? undefined
      : or(ilike(datasets.name, `%${escapeLike(search)}%`), eq(datasets.id, search));
  const where = and(readableBy(caller), isFound);
  return database.ask(async (db) => {
    const found = await db
      .select()
      .from(datasets)
      .where(where)
      .orderBy(desc(datasets.createdAt), desc(datasets.id))
      .limit(limit)
      .offset(offset);
    const [counted] = await db.select({ total: count() }).from(datasets).where(where);
    return { datasets: found, total: counted?.total ?? 0 };
  });
}

/** By id or name. Rejects with `not_found`. */
export function findDataset(
  { database }: DatasetStore,
  caller: AnyCaller,
  idOrName: string,
): Promise<DatasetRow> {
  return database.ask((db) => readDataset(db, caller, idOrName));
}

/** Returns the record of a dataset that does not exist yet. Throws `invalid_value`. */
export function newDatasetRow(ownerId: string, given: NewDataset, now: number): DatasetRow {
  const { name, columns, key = [] } = given;
  checkDatasetName(name);
  checkColumns(columns, key);
  const id = `ds_${randomBase62(ID_LENGTH)}`;
  const at = new Date(now);
  return {
    ...{ id, name, ownerId, columns, key },
    description: given.description ?? null,
    visibility: given.visibility ?? "private",
    tableName: newTableName(id),
    rows: 0,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
}

/** Creates an empty dataset. Rejects with `invalid_value` for a name that is taken. */
export async function createDataset(
  store: DatasetStore,
  actor: AnyActor,
  given: NewDataset,
): Promise<DatasetRow> {
  refuseRestrictedKey(actor.caller);
  refuseSharing(given.visibility, actor.caller);
  const row = newDatasetRow(actor.caller.ownerId, given, store.clock.now());
  const created = await change(store, actor, frame("create", row.id), async (transaction) => {
    await refuseNewDataset(transaction, row.name);
    await createDatasetTable(transaction, row.tableName, row);
    await transaction.insert(datasets).values(row);
    await store.views.show(transaction, row);
    return { result: row, details: detailsOf(row) };
  });
  store.wake();
  return created;
}

/** Sets the given fields. Rejects with `not_found`, `insufficient_permission` and `invalid_value`. */
export async function updateDataset(
  store: DatasetStore,
  actor: AnyActor,
  { id, fields }: { readonly id: string; readonly fields: DatasetPatch },
): Promise<DatasetRow> {
  refuseSharing(fields.visibility, actor.caller);
  const { addColumns = [], ...others } = fields;
  const given = Object.fromEntries(
    Object.entries(others).filter(([, value]) => value !== undefined),
  ) as Omit<DatasetPatch, "addColumns">;
  const work = async (transaction: Db) => {
    const found = await readWritable(transaction, actor.caller, id);
    if (Object.keys(given).length === 0 && addColumns.length === 0) {
      return { result: found, details: null };
    }
    // Locked, so that two changes follow each other, and none follows a deletion.
    const locking = transaction.select().from(datasets).where(eq(datasets.id, found.id));
    const [before] = await locking.for("update");
    if (before === undefined) throw noDataset();
    if (given.name !== undefined && given.name !== before.name) {
      checkDatasetName(given.name);
      await refuseTakenName(transaction, given.name);
    }
    const columns = [...before.columns, ...addColumns];
    checkColumns(columns, before.key);
    if (addColumns.length > 0) await addTo(transaction, before.tableName, addColumns);
    const set = { ...given, columns, updatedAt: new Date(store.clock.now()) };
    await transaction.update(datasets).set(set).where(eq(datasets.id, before.id));
    const after = { ...before, ...set } as DatasetRow;
    if (after.name !== before.name) await store.views.hide(transaction, before.name);
    await store.views.show(transaction, after);
    const details = {
      ...auditDetails(given),
      ...(addColumns.length > 0 && { add_columns: addColumns.map(({ name }) => name) }),
    };
    return { result: after, details };
  };
  const updated = await change(store, actor, frame("update", id), work);
  store.wake();
  return updated;
}

/** Deletes a dataset with its rows. Readers at it go on for some minutes. Rejects as `updateDataset`. */
export async function deleteDataset(
  store: DatasetStore,
  actor: AnyActor,
  id: string,
): Promise<void> {
  await change(store, actor, frame("delete", id), async (transaction) => {
    const { id: known } = await readWritable(transaction, actor.caller, id);
    const deletion = transaction.delete(datasets).where(eq(datasets.id, known)).returning();
    const [gone] = await deletion;
    if (gone === undefined) return { result: undefined, details: null };
    await store.views.hide(transaction, gone.name);
    const now = store.clock.now();
    await setTableState(transaction, gone.tableName, { kind: "retired", at: now });
    const body = {
      ...{ dataset: gone.id, dataset_name: gone.name, change: "delete" as const },
      ...{ rows: gone.rows, version: gone.version + 1, run_id: null, chain: [] },
    };
    await fireEvents(transaction, [{ kind: "dataset.updated", body }], now);
    return { result: undefined, details: { name: gone.name, rows: gone.rows } };
  });
  store.wake();
}

/** Rejects with `invalid_value` for a name that is taken, and when there are too many datasets. */
export async function refuseNewDataset(transaction: Db, name: string): Promise<void> {
  await refuseTakenName(transaction, name);
  const [counted] = await transaction.select({ total: count() }).from(datasets);
  if ((counted?.total ?? 0) < DATASETS_MAX) return;
  throw new ServiceError(
    "invalid_value",
    `There are ${DATASETS_MAX} datasets, which is the most; delete some that are no longer used.`,
  );
}

async function refuseTakenName(transaction: Db, name: string): Promise<void> {
  // Nobody else takes a name until the transaction ends.
  await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.datasetNames})`);
  const [found] = await transaction
    .select({ id: datasets.id })
    .from(datasets)
    .where(eq(datasets.name, name));
  if (found === undefined) return;
  throw new ServiceError("invalid_value", `There is a dataset named '${name}' already.`, {
    param: "name",
  });
}

export function detailsOf({ name, columns, key, visibility }: DatasetRow) {
  return { name, columns: columns.length, key, visibility };
}

function frame(verb: "create" | "update" | "delete", id: string): ChangeFrame {
  return { action: `dataset.${verb}`, targetKind: "dataset", targetId: id };
}

async function addTo(
  transaction: Db,
  table: string,
  columns: readonly DatasetColumn[],
): Promise<void> {
  await transaction.execute(sql`set local lock_timeout = ${sql.raw(`'${LOCK_TIMEOUT}'`)}`);
  const additions = columns.map((column) => sql`add column ${definitionOf(column)}`);
  try {
    await transaction.execute(sql`alter table ${tableOf(table)} ${sql.join(additions, sql`, `)}`);
  } catch (cause) {
    if (toDatabaseError(cause).code !== NO_LOCK) throw cause;
    throw beingRead(cause);
  }
}

function beingRead(cause: unknown): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The dataset is being read by long queries now; add the columns later.",
    { cause },
  );
}
