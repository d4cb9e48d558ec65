import { shareRuns } from "../lib/concurrency.ts";
import { causeOf, type Log } from "../lib/log.ts";
import { repeat } from "../lib/time/repeat.ts";
import type { Ask, Database } from "./database.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;

/** Data of the database that is held in memory. */
export interface CaughtUp {
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => void;
}

interface CatchUpOptions {
  readonly database: Pick<Database, "askOwn" | "kind">;
  readonly log: Log;
  /** What is read, as log lines name it: a plural. */
  readonly name: string;
  /** Reads what has changed. What it read before must stay in use when it rejects. */
  readonly read: (ask: Ask) => Promise<void>;
}

/**
 * Reads changes until closed: those of other replicas by polling. Only this process writes to the embedded database, so
 * there only a read that failed is repeated.
 */
export function keepCaughtUp({ database, log, name, read }: CatchUpOptions): CaughtUp {
  let isAway = false;
  const catchUp = shareRuns(async () => {
    try {
      await read(database.askOwn);
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
  const isSoleWriter = database.kind === "embedded";
  const polling = repeat(POLL_PAUSE_MS, async () => {
    if (!isSoleWriter || isAway) await catchUp();
  });
  return { catchUp, close: () => polling.stop() };
}
