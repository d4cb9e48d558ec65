import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { Partition, Sequence } from "../backup-format.ts";

export interface TableDescription {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

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

/** Quotes a name as part of a statement. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
