import type { Settings } from "../../config/settings.ts";
import { ServiceError } from "../../core/service-error.ts";
import { ADVISORY_LOCK, openSessionLocks } from "../../db/locks/advisory-locks.ts";

/** Runs one reconciliation at a time; rejects with `run_active` while another one runs. */
export type InReconciliationTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

const LOCK_NAME = "reconciliation";

/**
 * Creates the lock of all replicas on one database. A reconciliation compares hour by hour: several at once would use
 * up the connections that other callers wait for. The lock has a connection of its own, which is open only during a
 * run.
 */
export function createReconciliationTurn({
  DATABASE_URL: url,
}: Pick<Settings, "DATABASE_URL">): InReconciliationTurn {
  let isTaken = false;
  return async (work) => {
    if (isTaken) throw isRunning();
    isTaken = true;
    const locks = openSessionLocks({ url, space: ADVISORY_LOCK.reconciliation });
    try {
      const held = await locks.hold(LOCK_NAME).catch((cause: unknown) => {
        throw new ServiceError("storage_unavailable", "The database does not answer. Try again.", {
          cause,
        });
      });
      if (held === undefined) throw isRunning();
      return await work();
    } finally {
      isTaken = false;
      await locks.close();
    }
  };
}

function isRunning(): ServiceError {
  return new ServiceError(
    "run_active",
    "A reconciliation of usage is in progress. Try again when it has ended.",
  );
}
