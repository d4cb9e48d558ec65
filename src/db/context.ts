import type { PgDatabase } from "drizzle-orm/pg-core";
import type { PostgresJsQueryResultHKT } from "drizzle-orm/postgres-js";
import { isConnectionLost, toDatabaseError } from "./database-error.ts";

/** A handle on the database: the pool itself, or one transaction. */
export type Db = PgDatabase<PostgresJsQueryResultHKT>;

/**
 * Runs `work` in one transaction and commits when it resolves.
 * Inside, only the handle it is given may be used: the embedded database has one session, so the outer
 * handle would wait for this very transaction, for good.
 */
export function withTransaction<Result>(
  db: Db,
  work: (transaction: Db) => Promise<Result>,
): Promise<Result> {
  return db.transaction((transaction) =>
    work(transaction).catch((thrown: unknown) => {
      if (!isConnectionLost(toDatabaseError(thrown))) throw thrown;
      // There is nothing to roll back, and the driver fails badly when it writes to a lost connection.
      // It rejects the transaction by itself, so this part just never ends.
      return new Promise<never>(() => undefined);
    }),
  );
}
