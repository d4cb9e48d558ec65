import { shareRuns } from "../lib/concurrency.ts";
import { causeOf, type Log } from "../lib/log.ts";
import { repeat } from "../lib/time/repeat.ts";
import type { Ask, Database } from "./database.ts";
import { type ChangeCounter, readChange } from "./next-change.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;

export interface FollowedChanges {
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => void;
}

export interface FollowChangesOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
  readonly counter: ChangeCounter;
  /** What is followed, as log lines name it: a plural. */
  readonly name: string;
  /**
   * Reads what changed after the counter had the value `from`; 0 reads everything. What it read before must stay in use
   * when it rejects.
   */
  readonly read: (ask: Ask, from: number) => Promise<void>;
}

/**
 * Reads data into memory, and what changes of it until closed. Rejects when the first reading does; what was read last
 * remains valid while the database is unreachable.
 */
export async function followChanges({
  database,
  log,
  counter,
  name,
  read,
}: FollowChangesOptions): Promise<FollowedChanges> {
  let upTo = 0;
  let isAway = false;

  const readChanges = async (ask: Ask): Promise<void> => {
    const reached = await ask((db) => readChange(db, counter));
    if (reached === upTo) return;
    // A lower number: the database was restored to an earlier state.
    await read(ask, reached < upTo ? 0 : upTo);
    upTo = reached;
  };
  await readChanges((work) => work(database.db));
  const catchUp = shareRuns(async () => {
    try {
      await readChanges(database.askOwn);
      if (isAway) log.info(`${name} are read from the database again`);
      isAway = false;
    } catch (thrown) {
      if (!isAway) {
        log.warn(
          { cause: causeOf(thrown) },
          `${name} cannot be read from the database; those last read stay in use`,
        );
      }
      isAway = true;
    }
  });
  // Only this process writes to the embedded database, so that nothing is missed but what it could not read.
  const isSoleWriter = database.kind === "embedded";
  const polling = repeat(POLL_PAUSE_MS, async () => {
    if (!isSoleWriter || isAway) await catchUp();
  });
  return { catchUp, close: () => polling.stop() };
}
