import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";

/** SQLSTATE of a lock that was not available within its timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Runs `work` in its own transaction, unless another replica is doing so or a needed lock is not free within
 * `lockTimeoutMs`. The timeout must be short, because later callers queue behind a waiting lock. False when nothing was
 * done.
 */
export async function withUpkeepLock(
  db: Db,
  lockTimeoutMs: number,
  work: (transaction: Db) => Promise<void>,
): Promise<boolean> {
  try {
    return await withTransaction(db, async (transaction) => {
      const [turn] = await transaction.execute<{ is_ours: boolean }>(
        sql`select pg_try_advisory_xact_lock(${ADVISORY_LOCK.usageUpkeep}) as is_ours`,
      );
      if (turn?.is_ours !== true) return false;
      await transaction.execute(sql.raw(`set local lock_timeout = ${lockTimeoutMs}`));
      await work(transaction);
      return true;
    });
  } catch (thrown) {
    if (toDatabaseError(thrown).code === LOCK_NOT_AVAILABLE) return false;
    throw thrown;
  }
}
