import { isFromDatabase, toDatabaseError } from "./database-error.ts";

/** SQLSTATE of a deadlock, and of a transaction that has met another one's change. */
const CONFLICTS: ReadonlySet<string> = new Set(["40P01", "40001"]);
const CHECK_VIOLATION = "23514";
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
  if (!isFromDatabase(thrown)) return false;
  const { code, constraint } = toDatabaseError(thrown);
  // Without a constraint: a row for the partition of other days whose own day got its partition at that moment.
  return CONFLICTS.has(code) || (code === CHECK_VIOLATION && constraint === undefined);
}
