import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Db } from "../../db/context.ts";
import { isQueryFailure, isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import type { Log } from "../../lib/log.ts";
import type { HeartbeatWatch } from "../../lib/process-lock/heartbeat-watch.ts";
import { acquireProcessLock, ProcessLockHeldError } from "../../lib/process-lock/process-lock.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Aside } from "./aside.ts";
import { listJournals, listSegments, removeJournalFolder } from "./journal-folder.ts";
import { replayJournal } from "./replay-journal.ts";
import { segmentName } from "./segment.ts";
import { deleteCheckpoints } from "./usage-store.ts";

export interface Adoption {
  /** The folder of all journals. */
  readonly root: string;
  /** The journal that this process writes; another one after it has moved. */
  readonly own: string;
  readonly db: Db;
  readonly aside: Aside;
  readonly limits: Pick<Limits, "settleLost">;
  /** What earlier rounds have seen of owners elsewhere. */
  readonly watch: HeartbeatWatch;
  readonly log: Log;
}

/** Why something was left for the next time, if anything was that may be adopted then. */
export interface LeftJournals {
  /** The database is away. */
  readonly forDatabase: boolean;
  /** Its process lives, or may live in another container. */
  readonly forOwner: boolean;
}

/**
 * Replays and removes the journals of processes that are gone: of this replica's run before, or of another
 * replica that shares the folder. What fails stays for the next time.
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
      // Files may be at fault for good: nothing waits for them.
      if (isQuery && isUnavailable(toDatabaseError(thrown))) forDatabase = true;
      const cause = isQuery ? { cause: toDatabaseError(thrown).message } : { err: thrown };
      adoption.log.warn({ journal, ...cause }, "a usage journal could not be replayed yet");
    }
  }
  return { forDatabase, forOwner };
}

async function adopt(adoption: Adoption, journal: string): Promise<void> {
  const { root, db, aside, limits, watch, log } = adoption;
  const path = join(root, journal);
  const lock = await acquireProcessLock(path, { watch });
  try {
    const segments = await listSegments(path);
    const cutCalls = await replayJournal({ db, aside, limits, journal, folder: path });
    for (const segment of segments) await rm(join(path, segmentName(segment)));
    await deleteCheckpoints(db, journal);
    if (segments.length > 0)
      log.info({ journal, cutCalls }, "replayed the usage of a lost process");
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
  await removeJournalFolder({ path, lock });
}
