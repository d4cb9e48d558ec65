import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import type { Ask, Database } from "../../db/database.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { takeTurns } from "../../lib/concurrency.ts";

/** How roles are read and changed, on the gateway's own connections. */
export interface RoleStore {
  readonly ask: Ask;
  /** Runs in a transaction that has the lock of all roles. */
  readonly change: Ask;
}

/**
 * Changes take turns in this process before they ask for a connection: those that wait for the lock would else take the
 * connections of the gateway's own work.
 */
export function createRoleStore({ askOwn }: Pick<Database, "askOwn">): RoleStore {
  const inTurn = takeTurns();
  return {
    ask: askOwn,
    change: (work) =>
      inTurn(() =>
        askOwn((db) =>
          withTransaction(db, async (transaction) => {
            await lockRoles(transaction);
            return work(transaction);
          }),
        ),
      ),
  };
}

/** Roles and grants are changed under one lock, because PostgreSQL fails where two sessions change one of them. */
export async function lockRoles(transaction: Db): Promise<void> {
  await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.dataViews})`);
}
