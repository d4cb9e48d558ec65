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
  const mark = kind === "mysql" ? "`" : '"';
  // Always quoted: a name may be a keyword, and unquoted PostgreSQL would read capital letters as small ones.
  const quote = (name: string) => `${mark}${name.replaceAll(mark, mark + mark)}${mark}`;
  // A table of another schema has that before the first dot; SQLite has none.
  const dot = kind === "sqlite" ? -1 : table.indexOf(".");
  const names = dot < 0 ? [table] : [table.slice(0, dot), table.slice(dot + 1)];
  return `SELECT * FROM ${names.map(quote).join(".")} LIMIT 100`;
}
