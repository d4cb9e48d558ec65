import type { PgDatabase } from "drizzle-orm/pg-core";
import type { PostgresJsQueryResultHKT } from "drizzle-orm/postgres-js";

/** A database handle: the pool itself, or one transaction. */
export type Db = PgDatabase<PostgresJsQueryResultHKT>;

/**
 * Runs `work` in one transaction and commits when it resolves. Inside, use only the given handle: the embedded database
 * has one session, so the outer handle would wait for this same transaction forever.
 */
export function withTransaction<Result>(
  db: Db,
  work: (transaction: Db) => Promise<Result>,
): Promise<Result> {
  return db.transaction(work);
}
