import type { Db } from "./context.ts";
import type { GateFigures } from "./query-gate.ts";

/**
 * The store of either kind. On PostgreSQL, callers' queries and the gateway's own use separate connections, so that
 * neither waits for the other. The embedded database has one session for both.
 */
export interface Database {
  /** The handle for the gateway's own queries, without a time limit: for the start, background jobs and tests. */
  readonly db: Db;
  /**
   * Like `db`, for work that others start and that may hold its connections for long, such as that of runs. On
   * PostgreSQL it has connections of its own, so that the gateway's own queries never wait for it.
   */
  readonly work: Db;
  readonly kind: "postgres" | "embedded";
  /**
   * Runs a query that a caller waits for, on one of DB_POOL_MAX connections. Rejects with `storage_unavailable` when
   * the database is unreachable, takes longer than DB_POOL_WAIT_MS or has too many callers waiting. Rejects with a
   * DatabaseError, free of statements and values, when the database refuses the query. An abandoned transaction is
   * rolled back when it ends.
   */
  readonly ask: Ask;
  /** Like `ask`, for the gateway's own work. It never queues after callers, however slow their queries are. */
  readonly askOwn: Ask;
  /** Returns true when the database answers within DB_POOL_WAIT_MS and takes changes. Never rejects. */
  readonly ping: () => Promise<boolean>;
  /** True when the last ping reached a server that takes no changes. */
  readonly isReadOnly: () => boolean;
  /** The state of the callers' queue. */
  readonly figures: () => GateFigures;
  readonly close: () => Promise<void>;
}

export type Ask = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
