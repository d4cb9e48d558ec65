import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";

/** SQLSTATE of a statement that the server has cancelled after its timeout. */
export const STATEMENT_TIMED_OUT = "57014";

/**
 * Runs `work` in a transaction of its own, in which PostgreSQL cancels each statement after `limitMs`; undefined when
 * it did. The embedded database has no statement timeout.
 */
export async function withStatementTimeout<Result>(
  db: Db,
  limitMs: number,
  work: (transaction: Db) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await withTransaction(db, async (transaction) => {
      await transaction.execute(sql.raw(`set local statement_timeout = ${limitMs}`));
      return work(transaction);
    });
  } catch (thrown) {
    if (toDatabaseError(thrown).code === STATEMENT_TIMED_OUT) return undefined;
    throw thrown;
  }
}
