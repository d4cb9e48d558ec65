import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Database } from "../../../src/db/database.ts";
import type { WatchedFolder } from "../../../src/queue/watched-folders/folder-watch.ts";

/** Looks follow each other closely; how long a file stays the same is told by the test's own clock. */
export const WATCH_TIMES = {
  WATCH_INTERVAL_MS: 50,
  WATCH_SETTLE_MS: 5_000,
  WATCH_ANSWER_TIMEOUT_MS: 30_000,
};

const PASSED_WITHIN_MS = 120_000;

/** The clock by which files settle. */
export interface SteadyClock {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

export function createSteadyClock(): SteadyClock {
  let nowMs = 0;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}

/** Resolves when each folder was looked at from now on, from the look's beginning to its end. */
export async function passLook(list: () => readonly WatchedFolder[]): Promise<void> {
  // One that is in progress may have passed what has just changed.
  for (let ended = 0; ended < 2; ended += 1) {
    const until = Date.now() + PASSED_WITHIN_MS;
    const before = list().map(({ checkedAt }) => checkedAt);
    while (list().some(({ checkedAt }, index) => checkedAt === before[index])) {
      if (Date.now() > until) throw new Error("a watched folder is not looked at");
      await sleep(10);
    }
  }
}

/** Resolves when all that has changed by now has fired, and would have fired twice if it could. */
export async function passSettling(
  list: () => readonly WatchedFolder[],
  clock: SteadyClock,
): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await passLook(list);
    clock.advance(WATCH_TIMES.WATCH_SETTLE_MS);
    await passLook(list);
  }
}

/** Takes away what earlier cases left in a database that a file shares. */
export async function forgetWatched({ db }: Pick<Database, "db">): Promise<void> {
  await db.execute(sql`truncate watched_folders, watched_files, outbox_events`);
}
