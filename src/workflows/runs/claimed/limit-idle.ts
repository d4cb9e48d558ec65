import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";

/**
 * To be called first in a transaction that locks a run's claim: when its worker stops in the middle, the database ends
 * the transaction before the lease is over, so that another worker can take the run over. The embedded database has one
 * process, which takes its locks with it.
 */
export async function limitIdle(
  transaction: Db,
  { kind }: Pick<Database, "kind">,
  leaseMs: number,
): Promise<void> {
  if (kind === "embedded") return;
  const limitMs = Math.max(1, Math.floor(leaseMs / 2));
  await transaction.execute(sql.raw(`set local idle_in_transaction_session_timeout = ${limitMs}`));
}
