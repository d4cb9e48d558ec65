import type { JsonValue } from "../../lib/json/json.ts";
import type { SqlParameter } from "../../lib/sql-gate/tokens/fill-placeholders.ts";

/** The kinds of databases that can be saved. This is the one list of them. */
export const CONNECTION_KINDS = ["postgres", "mysql", "sqlite"] as const;
/** `mysql` is MariaDB, too. */
export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

/** A database that an administrator has saved for tools to read. Its password is not part of it. */
export interface SavedConnection {
  /** `conn_` and 22 base62 characters. */
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  /** Null for SQLite, as are the next four. */
  readonly host: string | null;
  readonly port: number | null;
  readonly database: string | null;
  readonly user: string | null;
  readonly tls: "off" | "on" | "verify" | null;
  /** SQLite: the name of a file connection, `/`, and the path of the file in it. */
  readonly file: string | null;
  /** For the model: what is in it. */
  readonly description: string | null;
  readonly createdAt: Date;
}

/** A statement that reads. It has passed the SQL gate of its connection's kind. */
export interface ReadQuery {
  readonly sql: string;
  /** What its placeholders stand for, in their order: `$1` of PostgreSQL, `?` of the others. */
  readonly parameters?: readonly SqlParameter[] | undefined;
  /** Rows beyond it are not read. */
  readonly maxRows: number;
  /** For the whole query, with the connecting. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The result of a query. */
export interface QueryRows {
  readonly columns: readonly string[];
  /** Each row has a value for each column. Values that JSON has no type for, and integers beyond 2^53, are texts. */
  readonly rows: readonly (readonly JsonValue[])[];
  /** There were more rows. */
  readonly isCut: boolean;
}

/** A table or view of a saved connection. */
export interface TableShape {
  /** With its schema where that is not the default one. */
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** What a try of a connection has shown. */
export interface ConnectionTrial {
  readonly ok: boolean;
  /** Milliseconds for connecting, logging in and the first statement; null where that failed. */
  readonly latencyMs: number | null;
  readonly serverVersion: string | null;
  /** Tables and views that the user may read. */
  readonly tables: number | null;
  /** What is wrong, and what to do; null when it is ok. */
  readonly error: string | null;
}

/** The saved connections, held in memory. */
export interface SavedConnections {
  readonly list: () => readonly SavedConnection[];
  /** By name, whatever its case; undefined for an unknown one. Who may use it is not asked here. */
  readonly find: (name: string) => SavedConnection | undefined;
  /**
   * Runs one reading statement, read-only at the server too. Rejects with a `ServiceError` that the model may read, or
   * with the reason of the signal. The query is then ended at the server.
   */
  readonly read: (connection: SavedConnection, query: ReadQuery) => Promise<QueryRows>;
  /** Its tables and views with their columns, a bounded number of them, by name. Rejects as `read` does. */
  readonly describe: (
    connection: SavedConnection,
    signal: AbortSignal,
  ) => Promise<readonly TableShape[]>;
}
