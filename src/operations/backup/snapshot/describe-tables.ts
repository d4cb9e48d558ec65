import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { DatasetTable, Partition, Sequence } from "../backup-format.ts";

export interface TableDescription {
  /** Of a dataset's table with its schema before it: `datasets.ds_…`. */
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The rows that belong to it, as SQL; every row unless given. */
  readonly where?: string;
}

/** The schema of the tables that hold the rows of datasets. */
const DATASETS = "datasets";

/** The schema of the gateway's tables. */
const SCHEMA = sql`to_regnamespace(quote_ident(current_schema()))`;
/** Tables of extensions, such as a cloud adds to every database, do not belong to the gateway. */
const NOT_OF_EXTENSION = sql`not exists (
  select from pg_depend
  where classid = 'pg_class'::regclass and objid = relation.oid and deptype = 'e')`;

/**
 * Describes the gateway's tables as they are in the database, in the order of their names; a partitioned one is one
 * table. Columns that the database computes are left out.
 */
export async function describeTables(db: Db): Promise<readonly TableDescription[]> {
  const rows = await db.execute<{ name: string; columns: TableDescription["columns"] }>(sql`
    select relation.relname as name,
      json_agg(
        json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum
      ) as columns
    from pg_class relation
    join pg_attribute on attrelid = relation.oid
    where relnamespace = ${SCHEMA} and relkind in ('r', 'p')
      and not relispartition and ${NOT_OF_EXTENSION}
      and attnum > 0 and not attisdropped and attgenerated = ''
    group by relation.relname
    order by relation.relname`);
  return [...rows];
}

/** Lists the names of all relations in the gateway's schemas; an empty database has none. */
export async function listRelations(db: Db): Promise<readonly string[]> {
  const rows = await db.execute<{ name: string }>(sql`
    select relation.relname as name
    from pg_class relation
    where relnamespace in (${SCHEMA}, to_regnamespace('drizzle'))
      and relkind in ('r', 'p', 'v', 'm', 'S', 'f') and not relispartition and ${NOT_OF_EXTENSION}
    order by relation.relname`);
  return rows.map(({ name }) => name);
}

/** Describes the partitions of all tables, except the default ones, which belong to the schema itself. */
export async function describePartitions(db: Db): Promise<readonly Partition[]> {
  const rows = await db.execute<{ table: string; name: string; bound: string }>(sql`
    select parent.relname as table, child.relname as name,
      pg_get_expr(child.relpartbound, child.oid) as bound
    from pg_inherits
    join pg_class parent on parent.oid = inhparent and parent.relkind = 'p'
    join pg_class child on child.oid = inhrelid
    where parent.relnamespace = ${SCHEMA}
      and pg_get_expr(child.relpartbound, child.oid) <> 'DEFAULT'
    order by child.relname`);
  return [...rows];
}

/** The partitions that a partitioned table has its rows in. */
export interface TableParts {
  /** Each with bounds of its own, in the order of their names. */
  readonly bounded: readonly string[];
  /** The one of all other rows, which may move to a new one with bounds. */
  readonly rest: string | null;
}

/** Lists the partitions of each partitioned table, by its name. */
export async function listTableParts(db: Db): Promise<ReadonlyMap<string, TableParts>> {
  const rows = await db.execute<{ table: string; bounded: string[]; rest: string | null }>(sql`
    select parent.relname as table,
      coalesce(json_agg(child.relname order by child.relname) filter (where child.oid <> partdefid), '[]') as bounded,
      max(child.relname) filter (where child.oid = partdefid) as rest
    from pg_partitioned_table
    join pg_class parent on parent.oid = partrelid
    join pg_inherits on inhparent = parent.oid
    join pg_class child on child.oid = inhrelid
    where parent.relnamespace = ${SCHEMA}
    group by parent.relname`);
  return new Map(rows.map(({ table, bounded, rest }) => [table, { bounded, rest }]));
}

/** A foreign key. */
export interface Reference {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

export async function listReferences(db: Db): Promise<readonly Reference[]> {
  const rows = await db.execute<{ table: string; name: string; definition: string }>(sql`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and conparentid = 0 and connamespace = ${SCHEMA}
    order by 1, 2`);
  return [...rows];
}

/** Lists the gateway's functions, as a statement names them. */
export async function listFunctions(db: Db): Promise<readonly string[]> {
  const rows = await db.execute<{ signature: string }>(sql`
    select own.oid::regprocedure::text as signature
    from pg_proc own
    where pronamespace = ${SCHEMA} and not exists (
      select from pg_depend
      where classid = 'pg_proc'::regclass and objid = own.oid and deptype = 'e')`);
  return rows.map(({ signature }) => signature);
}

/** Describes the positions of the columns' sequences; unused ones are left out. */
export async function describeSequences(db: Db): Promise<readonly Sequence[]> {
  const rows = await db.execute<{ table: string; column: string; last: string }>(sql`
    select owner.relname as table, attname as column, last_value::text as last
    from pg_sequences
    join pg_class relation on relation.relname = sequencename and relation.relnamespace = ${SCHEMA}
    join pg_depend on classid = 'pg_class'::regclass and objid = relation.oid
      and refclassid = 'pg_class'::regclass and deptype in ('a', 'i')
    join pg_class owner on owner.oid = refobjid
    join pg_attribute on attrelid = owner.oid and attnum = refobjsubid
    where schemaname = current_schema() and last_value is not null
    order by owner.relname, attname`);
  return [...rows];
}

interface DescribedDataset extends Record<string, unknown> {
  readonly name: string;
  readonly version: number;
  readonly columns: DatasetTable["columns"];
  readonly indexes: readonly {
    readonly columns: readonly (string | null)[];
    readonly isUnique: boolean;
    readonly condition: string | null;
  }[];
}

/**
 * Describes the tables of datasets, which were made at run time. Tables that inherit from one are its parts: whoever
 * reads it reads them, and a restore makes one table of all.
 */
export async function describeDatasets(db: Db): Promise<readonly (DatasetTable & Versioned)[]> {
  const [known] = await db.execute<{ known: boolean }>(
    sql`select to_regclass('datasets') is not null and to_regnamespace(${DATASETS}) is not null as known`,
  );
  if (known?.known !== true) return [];
  const rows = await db.execute<DescribedDataset>(sql`
    select dataset.table_name as name, dataset.version,
      (select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum)
        from pg_attribute where attrelid = relation.oid and attnum > 0 and not attisdropped) as columns,
      coalesce((select json_agg(json_build_object(
          'columns', (select json_agg(attname order by place) from unnest(indkey::int2[]) with ordinality as keys (number, place)
            left join pg_attribute on attrelid = indrelid and attnum = number and number > 0),
          'isUnique', indisunique, 'condition', pg_get_expr(indpred, indrelid)) order by indexrelid)
        from pg_index where indrelid = relation.oid), '[]') as indexes
    from datasets as dataset
    join pg_class relation on relation.relname = dataset.table_name
      and relation.relnamespace = to_regnamespace(${DATASETS})
    order by dataset.table_name`);
  return rows.map(({ name, version, columns, indexes }) => ({
    ...{ name, version, columns },
    indexes: indexes.flatMap(({ columns: keys, isUnique, condition }) => {
      const present = /^\("?(\w+)"? IS NOT NULL\)$/.exec(condition ?? "")?.[1] ?? null;
      const isPlain =
        keys.every((key) => key !== null) && (condition === null) === (present === null);
      return isPlain ? [{ columns: keys as string[], isUnique, present }] : [];
    }),
  }));
}

/** Lists the tables of datasets, with their schema. */
export async function listDatasetTables(db: Db): Promise<readonly string[]> {
  const rows = await db.execute<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = to_regnamespace(${DATASETS}) and relkind = 'r'
    order by relname`);
  return rows.map(({ name }) => `${DATASETS}.${name}`);
}

interface Versioned {
  readonly version: number;
}

/**
 * The rows of a dataset's table that are in its current version: a row says which version brought it and which one
 * removed it, and removed rows stay for readers that began before.
 */
export function toDatasetDescription({
  name,
  version,
  columns,
}: DatasetTable & Versioned): TableDescription {
  const names = columns.map((column) => column.name);
  const hasVersions = names.includes("_load") && names.includes("_gone");
  return {
    name: `${DATASETS}.${name}`,
    columns: hasVersions ? columns.filter((column) => column.name !== "_gone") : columns,
    ...(hasVersions && {
      where: `_load <= ${Number(version)} and (_gone is null or _gone > ${Number(version)})`,
    }),
  };
}

/** Returns true for the table of a dataset. */
export function isDatasetTable(name: string): boolean {
  return name.startsWith(`${DATASETS}.`);
}

/** Quotes the name of a table, with its schema where that is not the default one, as part of a statement. */
export function quoteTable(name: string): string {
  if (!isDatasetTable(name)) return quoteName(name);
  return `${DATASETS}.${quoteName(name.slice(DATASETS.length + 1))}`;
}

/** Quotes a name as part of a statement. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
