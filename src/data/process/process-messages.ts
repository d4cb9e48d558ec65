import type { Admission, Principal, UpstreamLogin } from "../principal.ts";

/** The exit code of a process that ended a turn on the embedded copy with itself. */
export const TURN_EXIT_CODE = 75;

/** What the data process is started with: the first line on its input. It reads no setting by itself. */
export interface ProcessConfig {
  /** The PostgreSQL port; null where it is not enabled. */
  readonly port: PortConfig | null;
  /** Path of the unix socket on which the server asks it for data (HTTP). Its folder is private. */
  readonly socketPath: string;
  /** Connections that readers may have on the PostgreSQL server, over all replicas; null on the embedded copy. */
  readonly mostSessions: number | null;
  /** Statements that the PostgreSQL server works on at once; null for any number, and on the embedded copy. */
  readonly mostRunning: number | null;
  /** The folder and archive of the embedded copy; null where the store is a PostgreSQL server. */
  readonly copy: CopyConfig | null;
}

export interface PortConfig {
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
  /** BIKEY_PG_PLAIN */
  readonly isPlainAllowed: boolean;
  /** BIKEY_TLS_CERT_FILE and BIKEY_TLS_KEY_FILE; both null to use `selfSignedFolder`. */
  readonly certificateFile: string | null;
  readonly keyFile: string | null;
  /** Where a self-signed certificate is kept. */
  readonly selfSignedFolder: string;
  /** BIKEY_PG_MAX_CONNECTIONS, lowered to half of what the database server allows. */
  readonly maxConnections: number;
}

export interface CopyConfig {
  /** `DATA_DIR/bi`, or null to keep the copy in memory. */
  readonly folder: string | null;
  /** The file of a prepared database to start from; may be absent. */
  readonly archive: string | null;
}

/** A line that the server writes to the process after its configuration. */
export type ToProcess =
  | { readonly type: "admission"; readonly id: number; readonly admission: Admission }
  /** Ends the open connections of these principals, or of all. */
  | {
      readonly type: "end";
      readonly principalIds: readonly string[] | "all";
      readonly reason: string;
    }
  /** How late the server is while clients call it; null once when they have stopped. */
  | { readonly type: "calls"; readonly lateMs: number | null }
  | { readonly type: "stop" };

/** A line that the process writes to the server. */
export type FromProcess =
  /** The first one: it serves its socket, and the port unless that failed. */
  | { readonly type: "open"; readonly port: number | null; readonly failure: string | null }
  /** Answered by `admission` with the same id. */
  | {
      readonly type: "login";
      readonly id: number;
      readonly secret: string;
      readonly address: string;
    }
  | { readonly type: "statement"; readonly statement: Statement }
  | { readonly type: "connections"; readonly open: number }
  /** A connection that was refused or ended for a fault of the client; by SQLSTATE. */
  | { readonly type: "refused"; readonly code: string }
  /** For the server's log. */
  | {
      readonly type: "log";
      readonly level: "info" | "warn" | "error";
      readonly text: string;
      readonly fields: Readonly<Record<string, string | number | null>>;
    };

/** One statement of a principal, without values. */
export interface Statement {
  readonly principalId: string;
  readonly via: "port" | "query" | "list";
  /** The text without literals, at most 8 KiB of it. */
  readonly text: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly milliseconds: number;
  readonly rows: number;
  readonly bytes: number;
  /** `refused` by the gate, `error` of the database, `cut` by a limit, `cancelled` by the client or with its connection. */
  readonly outcome: "ok" | "error" | "refused" | "cut" | "cancelled";
  /** The SQLSTATE of what was not answered. */
  readonly code: string | null;
}

/** What the server asks for over the socket with `POST /read`: one statement, and how its rows are written. */
export interface ReadRequest {
  readonly principal: Principal;
  readonly login: UpstreamLogin | null;
  /** `query`: a text of the caller, which must pass the gate. `list`: one that the server has built. */
  readonly via: "query" | "list";
  readonly sql: string;
  /** The values of `$1` and so on, as texts. */
  readonly values: readonly (string | null)[];
  readonly format: "json" | "csv" | "ndjson";
  /** In CSV, texts that a spreadsheet would run as formulas get an apostrophe. */
  readonly spreadsheet: boolean;
  /** Rows to answer with, though the statement may bring more; null for as many as the principal may read. */
  readonly rows: number | null;
  readonly paging: ReadPaging | null;
  /** The names to show for the first columns; the statement's own by default, which the database cuts at 63 bytes. */
  readonly names?: readonly string[];
  /** The time of the data, in ISO 8601. */
  readonly asOf: string;
}

/** The last columns of the rows are not shown; those of the page's last row become the place of the next page. */
export interface ReadPaging {
  readonly columns: number;
  /** A key for this list with its order and filters only, base64url. It authenticates the place. */
  readonly key: string;
}

/** The body of an answer to `POST /read` whose status is not 200. */
export interface ReadFailure {
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** Characters of the statement from 1. */
  readonly position?: number | undefined;
  /** Of a query with an unknown relation: what it reads that can be a view of `data`. */
  readonly relations?: readonly string[] | undefined;
}
