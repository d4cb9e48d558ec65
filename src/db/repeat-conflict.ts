import { isFromDatabase, toDatabaseError } from "./database-error.ts";

/**
 * SQLSTATE of a deadlock, of a transaction that has met another one's change, and of a row for the partition of other
 * days whose own day got its partition at that moment.
 */
const CONFLICTS: ReadonlySet<string> = new Set(["40P01", "40001", "23514"]);
const TRIES = 3;

/** Runs a transaction again that was undone because of another one beside it, three times at most. */
export async function repeatConflict<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (thrown) {
      if (tries === TRIES || !isConflict(thrown)) throw thrown;
    }
  }
}

/** Whether a transaction was undone because of another one beside it, so that it can be run again. */
export function isConflict(thrown: unknown): boolean {
  return isFromDatabase(thrown) && CONFLICTS.has(toDatabaseError(thrown).code);
}
