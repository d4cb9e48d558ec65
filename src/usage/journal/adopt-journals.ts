import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../db/context.ts";
import { isQueryFailure, isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import type { HeartbeatWatch } from "../../lib/process-lock/heartbeat-watch.ts";
import { acquireProcessLock, ProcessLockHeldError } from "../../lib/process-lock/process-lock.ts";
import type { Limits } from "../../limits/limits.ts";
import { listJournals, listSegments, removeJournalFolder } from "./journal-folder.ts";
import type { Quarantine } from "./quarantine.ts";
import { replayJournal } from "./replay-journal.ts";
import { segmentName } from "./segment.ts";
import { deleteCheckpoints } from "./usage-store.ts";

export interface Adoption {
  /** The folder of all journals. */
  readonly root: string;
  /** The journal that this process writes; the name changes when it moves to a new folder. */
  readonly own: string;
  readonly db: Db;
  readonly quarantine: Quarantine;
  readonly limits: Pick<Limits, "settleLost" | "recount">;
  /** The heartbeats that earlier rounds saw from owners in other containers. */
  readonly watch: HeartbeatWatch;
  readonly log: Log;
}

/** The reasons why journals were left for a later round, as far as they may be adopted then. */
export interface LeftJournals {
  /** The database is unavailable. */
  readonly forDatabase: boolean;
  /** The owner's process lives, or may live in another container. */
  readonly forOwner: boolean;
}

/**
 * Replays and removes the journals of processes that have ended: of this replica's previous run, or of another replica
 * that shares the folder. What fails is left for the next round.
 */
export async function adoptJournals(adoption: Adoption): Promise<LeftJournals> {
  let forDatabase = false;
  let forOwner = false;
  for (const journal of await listJournals(adoption.root)) {
    if (journal === adoption.own) continue;
    try {
      await adopt(adoption, journal);
    } catch (thrown) {
      if (thrown instanceof ProcessLockHeldError) {
        forOwner = true;
        continue;
      }
      const isQuery = isQueryFailure(thrown);
      // The files themselves may be damaged permanently, so nothing waits for them.
      if (isQuery && isUnavailable(toDatabaseError(thrown))) forDatabase = true;
      const cause = isQuery ? { cause: toDatabaseError(thrown).message } : { err: thrown };
      adoption.log.warn({ journal, ...cause }, "a usage journal could not be replayed yet");
    }
  }
  return { forDatabase, forOwner };
}

async function adopt(adoption: Adoption, journal: string): Promise<void> {
  const { root, db, quarantine, limits, watch, log } = adoption;
  const path = join(root, journal);
  const lock = await acquireProcessLock(path, { watch });
  try {
    const segments = await listSegments(path);
    const cutCalls = await replayJournal({ db, quarantine, limits, journal, folder: path });
    for (const segment of segments) await rm(join(path, segmentName(segment)));
    await deleteCheckpoints(db, journal);
    if (segments.length > 0)
      log.info({ journal, cutCalls }, "replayed the usage journal of a process that ended");
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
  await removeJournalFolder({ path, lock });
}

/** Slightly longer than the silence after which the lock owner in another container counts as dead. */
const INTERVAL_MS = 20_000;
/** Calls wait for a start that lost its database, so this interval is short. */
const CATCH_UP_INTERVAL_MS = 1_000;

/** How long the start of a lone gateway waits for a predecessor that may have been killed in another container. */
const OWNER_WAIT_MS = 20_000;
const NOTHING_LEFT: LeftJournals = { forDatabase: false, forOwner: false };

export interface Adopting {
  /** Settles when the first round is over. Never rejects. */
  readonly first: Promise<void>;
  /**
   * Settles when a round has found the database available, so everything adoptable is counted. A lone instance also
   * waits until no journal has another owner, or until the wait times out. Never rejects.
   */
  readonly caughtUp: Promise<void>;
  /** Starts no further round; resolves when the current one has ended. */
  readonly stop: () => Promise<void>;
}

/**
 * Adopts journals now and every twenty seconds, one round at a time.
 * @param isAlone no other replica is expected on the database.
 */
export function adoptRepeatedly(adoption: Adoption, isAlone: boolean): Adopting {
  let running: Promise<LeftJournals> | undefined;
  const round = (): Promise<LeftJournals> => {
    running ??= adoptJournals(adoption)
      .catch((thrown: unknown) => report(adoption.log, thrown))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const timer = setInterval(() => void round(), INTERVAL_MS);
  timer.unref();
  const stopped = new AbortController();
  const first = round();
  return {
    first: first.then(() => undefined),
    caughtUp: catchUp(round, isAlone, stopped.signal),
    async stop() {
      stopped.abort();
      clearInterval(timer);
      await running;
    },
  };
}

/** Runs rounds until nothing is left that a start waits for. */
async function catchUp(
  round: () => Promise<LeftJournals>,
  isAlone: boolean,
  stopped: AbortSignal,
): Promise<void> {
  const ownersUntil = isAlone ? performance.now() + OWNER_WAIT_MS : -Infinity;
  while (!stopped.aborted) {
    const { forDatabase, forOwner } = await round();
    if (!forDatabase && !(forOwner && performance.now() < ownersUntil)) return;
    await sleep(CATCH_UP_INTERVAL_MS, undefined, { ref: false });
  }
}

/** Logs the error. Nothing waits for the database, because the folder is at fault. */
function report(log: Log, thrown: unknown): LeftJournals {
  log.warn({ err: thrown }, "the folder of the usage journals could not be read");
  return NOTHING_LEFT;
}
