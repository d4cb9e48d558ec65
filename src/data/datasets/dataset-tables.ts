import { type SQL, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import { randomBase62 } from "../../lib/id.ts";
import { COLUMN_TYPES } from "./columns.ts";

/**
 * The rows of a dataset are in a table of the schema `datasets` and in its parts, tables that inherit from it: whoever
 * reads the table reads the parts too. A large load becomes a part in one step, however many rows it has; small ones
 * are moved into the table itself, so that parts stay few.
 *
 * Three columns are hidden:
 * - `_load`: the version of the dataset that brought the row;
 * - `_row`: the row's number in that load. Both together are the order of the rows, and never change;
 * - `_gone`: the version that removed the row; null while it is there. Readers that began before still see it.
 *
 * So version V consists of the rows with `_load <= V and (_gone is null or _gone > V)`, and the newest one, for a view,
 * of those with `_gone is null`.
 *
 * A table's comment says what it is while it is not (or no more) a dataset's: see `TableState`.
 */

/** SQLSTATE of a table that is not there. */
const NO_TABLE = "42P01";

/**
 * - `load <time>`: a load in progress. It belongs to nobody after that time, Unix milliseconds.
 * - `retired <time>`: replaced or deleted at that time; readers may still be at it.
 */
export type TableState = { readonly kind: "load" | "retired"; readonly at: number };

export function newTableName(datasetId: string): string {
  return `${datasetId}_${randomBase62(8)}`;
}

export function tableOf(name: string): SQL {
  return sql`datasets.${sql.identifier(name)}`;
}

export function columnList(columns: readonly Pick<DatasetColumn, "name">[], prefix?: SQL): SQL {
  const names = columns.map(({ name }) =>
    prefix === undefined ? sql.identifier(name) : sql`${prefix}.${sql.identifier(name)}`,
  );
  return sql.join(names, sql`, `);
}

export function definitionOf({ name, type }: DatasetColumn): SQL {
  return sql`${sql.identifier(name)} ${sql.raw(COLUMN_TYPES[type])}`;
}

export interface TableShape {
  readonly columns: readonly DatasetColumn[];
  readonly key: readonly string[];
}

/** Creates an empty table for a dataset. */
export async function createDatasetTable(db: Db, name: string, shape: TableShape): Promise<void> {
  const hidden = sql`_load integer, _row bigint, _gone integer`;
  await createTable(db, name, { ...shape, hidden });
  await db.execute(sql`create index on ${tableOf(name)} (_load, _row)`);
}

/**
 * Creates the table of a load. `_load` is added when its rows get a version.
 * @param isUnique of two rows with one key, the later one is kept.
 */
export async function createLoadTable(
  db: Db,
  name: string,
  { isUnique, ...shape }: TableShape & { readonly isUnique: boolean },
): Promise<void> {
  await createTable(db, name, { ...shape, hidden: sql`_row bigint, _gone integer`, isUnique });
  await db.execute(sql`create index on ${tableOf(name)} (_row)`);
}

async function createTable(
  db: Db,
  name: string,
  { columns, key, hidden, isUnique = false }: TableShape & { hidden: SQL; isUnique?: boolean },
): Promise<void> {
  const all = sql.join([hidden, ...columns.map(definitionOf)], sql`, `);
  await db.execute(sql`create table ${tableOf(name)} (${all})`);
  await db.execute(sql`create index on ${tableOf(name)} (_gone) where _gone is not null`);
  if (key.length === 0) return;
  const names = columnList(key.map((column) => ({ name: column })));
  const unique = isUnique ? sql`unique` : sql``;
  await db.execute(sql`create ${unique} index on ${tableOf(name)} (${names})`);
}

/** Makes a load's table the part of a dataset's table that brings version `version`. None of its rows is touched. */
export async function attachPart(
  db: Db,
  {
    table,
    part,
    version,
  }: { readonly table: string; readonly part: string; readonly version: number },
): Promise<void> {
  const load = tableOf(part);
  await db.execute(
    sql`alter table ${load} add column _load integer default ${sql.raw(String(version))}`,
  );
  await db.execute(sql`alter table ${load} inherit ${tableOf(table)}`);
  await db.execute(sql`comment on table ${load} is ${sql.raw(`'part ${version}'`)}`);
}

export async function setTableState(db: Db, name: string, state: TableState | null): Promise<void> {
  const text = state === null ? "null" : `'${state.kind} ${state.at}'`;
  await db.execute(sql`comment on table ${tableOf(name)} is ${sql.raw(text)}`);
}

export interface OtherTable {
  readonly name: string;
  readonly state: TableState;
}

/**
 * Lists the tables that are no dataset's: of loads, and retired ones. Their parts are not listed, nor those that a view
 * still reads: it would be dropped with its table.
 * @param name lists this table alone.
 */
export async function listOtherTables(db: Db, name?: string): Promise<readonly OtherTable[]> {
  const isWanted = name === undefined ? sql`true` : sql`relname = ${name}`;
  const found = await db.execute<{ name: string; comment: string }>(sql`
    select relname as name, description as comment from pg_class
    join pg_description on objoid = pg_class.oid and classoid = 'pg_class'::regclass and objsubid = 0
    where relnamespace = 'datasets'::regnamespace and relkind = 'r' and ${isWanted}
      and (description like 'load %' or description like 'retired %')
      and not exists (
        select from pg_depend join pg_rewrite on pg_rewrite.oid = pg_depend.objid
        where pg_depend.classid = 'pg_rewrite'::regclass and refclassid = 'pg_class'::regclass
          and refobjid = pg_class.oid)`);
  return Array.from(found, ({ name, comment }) => {
    const [kind, at] = comment.split(" ");
    return { name, state: { kind: kind === "load" ? "load" : "retired", at: Number(at) } };
  });
}

/** The parts of a table by the versions that brought them, ascending. */
export async function listParts(
  db: Db,
  table: string,
): Promise<readonly { readonly name: string; readonly version: number }[]> {
  const found = await db.execute<{ name: string; version: string }>(sql`
    select relname as name, split_part(description, ' ', 2) as version from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    join pg_description on objoid = inhrelid and classoid = 'pg_class'::regclass and objsubid = 0
    where inhparent = to_regclass(${`datasets."${table}"`})`);
  return Array.from(found, ({ name, version }) => ({ name, version: Number(version) })).sort(
    (left, right) => left.version - right.version,
  );
}

/** A table, or one of its parts, from the loads behind `after` up to `upTo`. */
export interface Segment {
  readonly name: string;
  readonly isPart: boolean;
  readonly after: number;
  readonly upTo: number;
}

/**
 * Returns where the loads of a version are, in their order: the parts hold one each, the table itself those between. Each
 * segment has an index of its order; to read all of them at once would sort the whole dataset for each batch.
 */
export function segmentsOf(
  table: string,
  parts: readonly { readonly name: string; readonly version: number }[],
  version: number,
): readonly Segment[] {
  const segments: Segment[] = [];
  let after = 0;
  for (const part of parts) {
    if (part.version > version) break;
    segments.push({ name: table, isPart: false, after, upTo: part.version - 1 });
    segments.push({ name: part.name, isPart: true, after: part.version - 1, upTo: part.version });
    after = part.version;
  }
  segments.push({ name: table, isPart: false, after, upTo: version });
  return segments.filter(({ after: first, upTo }) => upTo > first);
}

/**
 * Drops a table with its parts if it is no dataset's and `isUnused` agrees. A commit whose answer was lost may still be
 * taking the table over, so that is asked again when the table is locked: only then is the comment what it stays. While a
 * backup is made a retired table stays for a later call: at the backup's moment it may be a dataset's. Rejects when somebody is at the table for long.
 */
export async function dropOtherTable(
  db: Db,
  name: string,
  isUnused: (table: OtherTable) => boolean,
): Promise<void> {
  const work = async (inner: Db) => {
    const canGo = async () => {
      const table = (await listOtherTables(inner, name)).find(isUnused);
      return table !== undefined && (table.state.kind === "load" || (await keepBackupsOut(inner)));
    };
    if (!(await canGo())) return;
    // A reader's statement holds the table for moments; a report of BI may for long.
    await inner.execute(sql`set local lock_timeout = '2s'`);
    await inner.execute(sql`lock table ${tableOf(name)} in access exclusive mode`);
    if (await canGo()) await inner.execute(sql`drop table ${tableOf(name)} cascade`);
  };
  await withTransaction(db, work).catch((thrown: unknown) => {
    if (toDatabaseError(thrown).code !== NO_TABLE) throw thrown;
  });
}

/** Returns false while a backup is made; otherwise none begins until the transaction ends. */
async function keepBackupsOut(transaction: Db): Promise<boolean> {
  const [lock] = await transaction.execute<{ held: boolean }>(
    sql`select pg_try_advisory_xact_lock(${ADVISORY_LOCK.datasetTables}) as held`,
  );
  return lock?.held === true;
}

/** The number of rows of a version of the dataset, for limits: exact. */
export function isVisibleAt(version: number): SQL {
  return sql`_load <= ${version} and (_gone is null or _gone > ${version})`;
}
