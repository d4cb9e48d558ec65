import type { JsonObject } from "../../../lib/json/json.ts";
import type { SqlParameter } from "../../../lib/sql-gate/tokens/fill-placeholders.ts";
import type { QueryRows, SavedConnection } from "../connection.ts";

/** A saved connection, or one that is tried before it is saved, with its password. */
export interface Target {
  readonly connection: Omit<SavedConnection, "createdAt">;
  /** Null without one. */
  readonly password: string | null;
}

/** A query for one session. */
export interface SessionQuery {
  readonly sql: string;
  readonly parameters?: readonly SqlParameter[] | undefined;
  readonly maxRows: number;
  /** Bytes that the database may send for it. */
  readonly maxBytes: number;
  /** The time after which the server itself ends it. */
  readonly timeoutMs: number;
}

/** Rows for one table, written in one transaction. */
export interface SessionWrite {
  /** With its schema before it where that is not the default one; each part is quoted. */
  readonly table: readonly string[];
  /** At least one. Each row has a value for each; null without one. */
  readonly columns: readonly string[];
  /** Of `columns`: a row that has the values of another one replaces it. Empty: rows are only added. */
  readonly key: readonly string[];
  /** Values are texts, numbers, booleans and null, or JSON for a column of JSON. No two have the same key. */
  readonly rows: readonly JsonObject[];
  readonly timeoutMs: number;
}

/** A connection to a database with which one query at a time is run. */
export interface Session {
  /** Runs one statement in a read-only transaction. Rejects with what the driver threw, or a `DriverFault`. */
  readonly read: (query: SessionQuery) => Promise<QueryRows>;
  /** Writes rows and commits. Rejects as `read` does; then nothing was written, unless the connection ended. */
  readonly write: (rows: SessionWrite) => Promise<void>;
  /** Asks the server to end the query in progress, whose `read` or `write` then rejects. */
  readonly cancel: (signal: AbortSignal) => Promise<void>;
  /** Leaves nothing of the last query, so that the session can be used again. */
  readonly reset: () => Promise<void>;
  /** False once the connection has ended. */
  readonly isUsable: () => boolean;
  readonly close: () => void;
}

/** Connects and logs in. Rejects with an `EgressError`, with what TLS or the driver threw, or the signal's reason. */
export type OpenSession = (target: Target, signal: AbortSignal) => Promise<Session>;

/**
 * - `too_large`: the result has more bytes than allowed
 * - `protocol`: the server does not speak the protocol of its kind
 * - `no_tls`: the server offers no TLS
 * - `file`: the file is missing, or is no database
 * - `statement`: this statement cannot be run here
 */
export type DriverReason = "too_large" | "protocol" | "no_tls" | "file" | "statement";

/** A failure that the drivers themselves report. Its message is a sentence that anybody may read. */
export class DriverFault extends Error {
  override readonly name = "DriverFault";
  readonly reason: DriverReason;

  constructor(reason: DriverReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function tooLarge(maxBytes: number): DriverFault {
  return new DriverFault(
    "too_large",
    `The result is larger than ${Math.floor(maxBytes / 2 ** 20)} MiB. Select fewer or shorter columns.`,
  );
}
