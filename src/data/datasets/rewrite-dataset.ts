import { eq, type SQL, sql } from "drizzle-orm";
import { withTransaction } from "../../db/context.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { type DatasetRow, type DatasetStore, noDataset } from "./dataset-store.ts";
import {
  columnList,
  createDatasetTable,
  listParts,
  newTableName,
  setTableState,
  tableOf,
} from "./dataset-tables.ts";
import { sameKey } from "./stage-rows.ts";

/** Rows that one statement looks at. */
const STEP_ROWS = 500;
const LEASE_MS = 30 * 60_000;

/** A copy of a dataset without the rows that a load replaces. */
export interface Rewritten {
  readonly table: string;
  readonly rows: number;
  /** Of the dataset that was copied. */
  readonly version: number;
  /** How many columns it had: another one does not change its version. */
  readonly columns: number;
}

/**
 * Copies the rows of a dataset whose keys are not in the load's table, in short steps: removing a million rows in one
 * transaction would keep all others from the embedded database for seconds.
 */
export async function rewriteWithout(
  store: DatasetStore,
  {
    datasetId,
    table: load,
    made,
    renew,
  }: {
    readonly datasetId: string;
    readonly table: string;
    /** The table of the copy is there: the caller drops it where this rejects, and where it is not committed. */
    readonly made: (table: string) => void;
    readonly renew: () => Promise<void>;
  },
): Promise<Rewritten> {
  const { askOwn } = store.database;
  const [dataset] = await askOwn((db) =>
    db.select().from(datasets).where(eq(datasets.id, datasetId)),
  );
  if (dataset === undefined) throw noDataset();
  const table = newTableName(datasetId);
  const parts = await askOwn((db) =>
    withTransaction(db, async (inner) => {
      await createDatasetTable(inner, table, dataset);
      const at = store.clock.now() + LEASE_MS;
      await setTableState(inner, table, { kind: "load", at });
      return listParts(inner, dataset.tableName);
    }),
  );
  made(table);
  let rows = 0;
  const sources = [
    ...parts.map(({ name }) => ({ name, order: sql`_row` })),
    { name: dataset.tableName, order: sql`_load, _row` },
  ];
  for (const source of sources) {
    rows += await copy(store, { dataset, load, table, ...source, renew });
  }
  return { table, rows, version: dataset.version, columns: dataset.columns.length };
}

interface Copy {
  readonly dataset: DatasetRow;
  readonly load: string;
  readonly table: string;
  /** The table or part that is read. */
  readonly name: string;
  readonly order: SQL;
  readonly renew: () => Promise<void>;
}

async function copy(
  store: DatasetStore,
  { dataset, load, table, name, order, renew }: Copy,
): Promise<number> {
  const names = columnList(dataset.columns);
  const isPart = name !== dataset.tableName;
  let copied = 0;
  let last = { load: 0, row: 0 };
  for (;;) {
    // A scalar subquery looks each key up in the index; a join would read the whole load at every step.
    const place = isPart
      ? sql`_row > ${last.row}`
      : sql`(_load, _row) > (${last.load}, ${last.row})`;
    const [step] = await store.database.askOwn((db) =>
      db.execute<{ seen: number; copied: number; load: number | null; row: string | null }>(sql`
        with seen as (
          select _load, _row, _gone, ${names} from only ${tableOf(name)}
          where ${place} order by ${order} limit ${STEP_ROWS}
        ), copied as (
          insert into ${tableOf(table)} (_load, _row, ${names})
          select _load, _row, ${names} from seen
          where _gone is null and (select 1 from ${tableOf(load)} as load where ${sameKey(dataset.key, sql`load`, sql`seen`)} limit 1) is null
          returning 1
        )
        select (select count(*)::int from seen) as seen, (select count(*)::int from copied) as copied,
          _load as load, _row::text as row
        from (select 1) as one left join (
          select _load, _row from seen order by _load desc, _row desc limit 1) as last on true`),
    );
    await renew();
    copied += step?.copied ?? 0;
    if (step === undefined || step.seen < STEP_ROWS) return copied;
    last = { load: step.load ?? 0, row: Number(step.row ?? 0) };
  }
}
