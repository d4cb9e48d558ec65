import type { ConnectionKind } from "../connection.ts";

/** Tables and views that are shown at most, by name. */
export const TABLES_MAX = 500;
/** Columns of each that are shown at most. */
export const COLUMNS_MAX = 100;

/** How a kind of database is asked about itself. */
export interface Dialect {
  /** One row of one text. */
  readonly version: string;
  /** One row of one number: the tables and views that the user may read. */
  readonly countTables: string;
  /** A row for each column: its table, its name, its type; in order. A table without columns has a row of nulls. */
  readonly describe: string;
}

const POSTGRES_TABLES = `
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
    and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
    and pg_catalog.has_any_column_privilege(c.oid, 'select')`;

const MYSQL_TABLES = `
  from information_schema.tables t
  where t.table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')
    and (database() is null or t.table_schema = database())`;

const SQLITE_TABLES = `
  from sqlite_schema where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'`;

export const DIALECTS: Readonly<Record<ConnectionKind, Dialect>> = {
  postgres: {
    version: "show server_version",
    countTables: `select count(*) ${POSTGRES_TABLES}`,
    describe: `
      select case when t.nspname = current_schema() then t.relname else t.nspname || '.' || t.relname end,
        a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
      from (select c.oid, c.relname::text, n.nspname::text ${POSTGRES_TABLES}
        order by n.nspname <> current_schema(), 3, 2 limit ${TABLES_MAX}) t
      left join lateral (select attname, atttypid, atttypmod, attnum from pg_catalog.pg_attribute
        where attrelid = t.oid and attnum > 0 and not attisdropped order by attnum limit ${COLUMNS_MAX}) a on true
      order by t.nspname <> current_schema(), t.nspname, t.relname, a.attnum`,
  },
  mysql: {
    version: "select version()",
    countTables: `select count(*) ${MYSQL_TABLES}`,
    describe: `
      select case when database() = s.table_schema then s.table_name else concat(s.table_schema, '.', s.table_name) end,
        c.column_name, c.column_type
      from (select t.table_schema, t.table_name ${MYSQL_TABLES}
        order by t.table_schema, t.table_name limit ${TABLES_MAX}) s
      left join information_schema.columns c on c.table_schema = s.table_schema
        and c.table_name = s.table_name and c.ordinal_position <= ${COLUMNS_MAX}
      order by s.table_schema, s.table_name, c.ordinal_position`,
  },
  sqlite: {
    version: "select sqlite_version()",
    countTables: `select count(*) ${SQLITE_TABLES}`,
    describe: `
      select t.name, c.name, c.type
      from (select name ${SQLITE_TABLES} order by name limit ${TABLES_MAX}) t
      left join pragma_table_xinfo(t.name) c on c.cid < ${COLUMNS_MAX}
      order by t.name, c.cid`,
  },
};
