import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../context.ts";
import { toDatabaseError } from "../database-error.ts";

/** SQLSTATE of a lock that was not available within its timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

export interface UpkeepLock {
  /** One of ADVISORY_LOCK: lets one replica at a time work. */
  readonly lock: number;
  /** For every lock that `work` needs. It must be short, because later callers queue behind a waiting lock. */
  readonly timeoutMs: number;
}

/**
 * Runs `work` in its own transaction, unless another replica is doing so or a needed lock is not free in time. False
 * when nothing was done.
 */
export async function withUpkeepLock(
  db: Db,
  { lock, timeoutMs }: UpkeepLock,
  work: (transaction: Db) => Promise<void>,
): Promise<boolean> {
  try {
    return await withTransaction(db, async (transaction) => {
      const [turn] = await transaction.execute<{ is_ours: boolean }>(
        sql`select pg_try_advisory_xact_lock(${lock}) as is_ours`,
      );
      if (turn?.is_ours !== true) return false;
      await transaction.execute(sql.raw(`set local lock_timeout = ${timeoutMs}`));
      await work(transaction);
      return true;
    });
  } catch (thrown) {
    if (toDatabaseError(thrown).code === LOCK_NOT_AVAILABLE) return false;
    throw thrown;
  }
}
