import type { Db } from "./context.ts";
import type { GateFigures } from "./query-gate.ts";

/**
 * The store, whichever way it is kept. On PostgreSQL callers' queries and the gateway's own have connections of their
 * own, so that neither waits for the other; the embedded database has one session for both.
 */
export interface Database {
  /** The gateway's own queries, without a limit in time: for the start, background jobs and tests. */
  readonly db: Db;
  readonly kind: "postgres" | "embedded";
  /**
   * Runs a query that a caller waits for, on one of DB_POOL_MAX connections. Rejects with `storage_unavailable`
   * when the database is away, takes longer than DB_POOL_WAIT_MS or has too many callers waiting; with a
   * DatabaseError, free of statements and values, when it refuses the query. A transaction that it gave up on is rolled
   * back when it ends.
   */
  readonly ask: Ask;
  /** As `ask`, for the gateway's own work: waits behind no caller, however slow what they ask for is. */
  readonly askOwn: Ask;
  /** True when the database answers within DB_POOL_WAIT_MS. Never rejects. */
  readonly ping: () => Promise<boolean>;
  /** How callers' queries fare. */
  readonly figures: () => GateFigures;
  readonly close: () => Promise<void>;
}

export type Ask = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
