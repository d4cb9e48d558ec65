import type { Db } from "./context.ts";

/** The store, whichever way it is kept. */
export interface Database {
  /** Queries without a limit in time: for the start, background jobs and tests. */
  readonly db: Db;
  readonly kind: "postgres" | "embedded";
  /**
   * Runs a query that a caller waits for. Rejects with `storage_unavailable` when the database is away,
   * takes longer than DB_POOL_WAIT_MS or has too many callers waiting; with a DatabaseError, free of
   * statements and values, when it refuses the query.
   */
  readonly ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /** True when the database answers within DB_POOL_WAIT_MS. Never rejects. */
  readonly ping: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}
