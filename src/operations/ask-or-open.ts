import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "../config/settings.ts";
import { ProcessLockHeldError } from "../lib/process-lock/process-lock.ts";

/** A server locks DATA_DIR some seconds before it accepts requests, and so does a command while it runs. */
const START_WAIT_MS = 15_000;
const START_PAUSE_MS = 250;

interface Ways<Result> {
  /** Asks the server that has the embedded database open; resolves with undefined when none answers. */
  readonly ask: () => Promise<Result | undefined>;
  /** Opens the database in this process. */
  readonly open: () => Promise<Result>;
  /** Returns the error for a folder that another process keeps locked without answering. */
  readonly refuse: (cause: ProcessLockHeldError) => Error;
}

/**
 * Runs a command's work where the database can be reached. PostgreSQL is opened directly. The embedded database belongs
 * to one process: a running server does the work, else this process opens the folder.
 */
export async function askOrOpen<Result>(
  { DATABASE_URL }: Pick<Settings, "DATABASE_URL">,
  { ask, open, refuse }: Ways<Result>,
): Promise<Result> {
  const deadline = performance.now() + START_WAIT_MS;
  for (;;) {
    const answer = DATABASE_URL === undefined ? await ask() : undefined;
    if (answer !== undefined) return answer;
    try {
      return await open();
    } catch (thrown) {
      if (!(thrown instanceof ProcessLockHeldError)) throw thrown;
      if (performance.now() > deadline) throw refuse(thrown);
      await sleep(START_PAUSE_MS);
    }
  }
}
