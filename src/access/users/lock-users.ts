import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";

/**
 * Lets changes to users happen one after the other, on all replicas, until the transaction ends: what is counted over
 * all of them (administrators, the license's number) cannot be gone round by two changes at once.
 */
export async function lockUsers(transaction: Db): Promise<void> {
  await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.users})`);
}
