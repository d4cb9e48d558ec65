import type { Connection } from "../../api/queries/connections.ts";

export const KINDS = {
  postgres: "PostgreSQL",
  mysql: "MySQL, MariaDB",
  sqlite: "SQLite",
} as const satisfies Readonly<Record<Connection["kind"], string>>;

/** Where a connection leads. */
export function placeOf({ host, port, file }: Connection): string {
  if (host === null) return file ?? "";
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === null ? shown : `${shown}:${port}`;
}

/** A statement that reads the first rows of a table. */
export function selectText(kind: Connection["kind"], table: string): string {
  // Unquoted, PostgreSQL would read capital letters as small ones.
  const isPlain = kind === "postgres" ? /^[a-z_][a-z0-9_.]*$/ : /^[A-Za-z_][A-Za-z0-9_.]*$/;
  const mark = kind === "mysql" ? "`" : '"';
  const name = isPlain.test(table) ? table : `${mark}${table.replaceAll(mark, mark + mark)}${mark}`;
  return `SELECT * FROM ${name} LIMIT 100`;
}
