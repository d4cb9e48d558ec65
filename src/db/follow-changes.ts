import type { Log } from "../lib/log.ts";
import type { Ask, Database } from "./database.ts";
import { type CaughtUp, keepCaughtUp } from "./keep-caught-up.ts";
import { type ChangeCounter, readChange } from "./next-change.ts";

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
}: FollowChangesOptions): Promise<CaughtUp> {
  let upTo = 0;

  const readChanges = async (ask: Ask): Promise<void> => {
    const reached = await ask((db) => readChange(db, counter));
    if (reached === upTo) return;
    // A lower number: the database was restored to an earlier state.
    await read(ask, reached < upTo ? 0 : upTo);
    upTo = reached;
  };
  await readChanges((work) => work(database.db));
  return keepCaughtUp({ database, log, name, read: readChanges });
}
