import { setTimeout as sleep } from "node:timers/promises";
import { journalsFolder } from "../../config/folders.ts";
import type { Base } from "../../db/base.ts";
import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { HeartbeatWatch } from "../../lib/process-lock/heartbeat-watch.ts";
import { within } from "../../lib/time/within.ts";
import type { Limits } from "../../limits/limits.ts";
import type { UsageJournal } from "../usage-record.ts";
import { type Adopting, type Adoption, adoptRepeatedly } from "./adopt-journals.ts";
import { DirectInserts } from "./direct-inserts.ts";
import { Flusher } from "./flusher.ts";
import { GroupSync } from "./group-sync.ts";
import { removeJournalFolder } from "./journal-folder.ts";
import { JournalHome } from "./journal-home.ts";
import { JournalWriter } from "./journal-writer.ts";
import { canJournal, isRefusing, openCall } from "./journaled-call.ts";
import { LateStarts } from "./late-starts.ts";
import { createQuarantine } from "./quarantine.ts";
import { deleteCheckpoints } from "./usage-store.ts";

const DRAIN_RETRY_MS = 200;

/** The journal of this process, with what its owner needs to run and monitor it. */
export interface OpenUsageJournal extends UsageJournal {
  /** Finished records that the database does not have yet. */
  readonly unflushedRecords: number;
  /** Seconds since the oldest of them ended; 0 without any. */
  readonly oldestUnflushedAgeSeconds: number;
  /**
   * True while the journal's disk refuses records, which then go directly to the database. With JOURNAL_FSYNC=wait also
   * while it refuses to sync them; calls are then refused.
   */
  readonly isRefusing: boolean;
  /** Resolves to whether calls can be recorded; tested when the journal refuses. Never rejects. */
  readonly canRecord: () => Promise<boolean>;
  /** Settles when the journals of earlier processes are replayed, or must wait for the next attempt. Never rejects. */
  readonly adopted: Promise<void>;
  /** Settles when that succeeded with the database available: the usage of lost processes is counted. Never rejects. */
  readonly caughtUp: Promise<void>;
  /** Resolves when the database has every record closed so far. Rejects when it is unavailable. */
  readonly flush: () => Promise<void>;
  /** Resolves when every record written so far is on stable storage. Rejects when the disk refuses. */
  readonly sync: () => Promise<void>;
  /**
   * Ends the journal within `limitMs`: moves its records to the database and removes its folder. Records that the
   * database has not taken by then are replayed by the next start. Never rejects.
   */
  readonly drain: (limitMs: number) => Promise<void>;
}

interface Parts {
  readonly home: JournalHome;
  readonly database: Database;
  readonly writer: JournalWriter;
  readonly flusher: Flusher;
  readonly direct: DirectInserts;
  readonly sync: GroupSync;
  readonly adopting: Adopting;
  readonly log: Log;
}

/**
 * Opens a journal for this process under JOURNAL_DIR, or starts without one when that disk is full. Starts to replay
 * the journals of processes that have ended, now and every twenty seconds.
 * @param limits count the usage of these processes.
 */
export async function openUsageJournal(
  base: Base,
  limits: Pick<Limits, "settleLost" | "recount">,
): Promise<OpenUsageJournal> {
  const { settings, clock } = base;
  const parts = await buildParts(base, limits);
  const { writer, flusher, direct, sync, adopting } = parts;
  const mustSync = settings.JOURNAL_FSYNC === "wait";
  const lateStarts = new LateStarts();
  const calls = { writer, flusher, direct, sync, lateStarts, mustSync, clock };
  let draining: Promise<void> | undefined;
  return {
    open: (start) => openCall(calls, start),
    get unflushedRecords() {
      return flusher.unflushedRecords + direct.unflushedRecords;
    },
    get oldestUnflushedAgeSeconds() {
      const endedAt = flusher.oldestEndedAt;
      return endedAt === undefined ? 0 : Math.max(0, (clock.now() - endedAt) / 1_000);
    },
    get isRefusing() {
      return isRefusing(calls);
    },
    async canRecord() {
      if (!isRefusing(calls)) return true;
      try {
        if (!(await canJournal(calls))) await direct.checkWritable();
        return true;
      } catch {
        return false;
      }
    },
    adopted: adopting.first,
    caughtUp: adopting.caughtUp,
    flush: () => flusher.flush(),
    sync() {
      writer.writePending();
      return sync.settle();
    },
    drain(limitMs) {
      draining ??= drain(parts, limitMs);
      return draining;
    },
  };
}

async function buildParts(
  { settings, database, log }: Base,
  limits: Pick<Limits, "settleLost" | "recount">,
): Promise<Parts> {
  const root = journalsFolder(settings);
  const { db } = database;
  const quarantine = createQuarantine(root, log);
  const sync = new GroupSync(settings.JOURNAL_FSYNC, log);
  const writer = new JournalWriter(sync, log);
  const flusher = new Flusher({
    writer,
    db,
    yields: database.kind === "embedded",
    quarantine,
    log,
  });
  const instance = settings.INSTANCE_ID ?? "gateway";
  const home = new JournalHome({ root, instance, writer, flusher, log });
  await home.open();
  const direct = new DirectInserts({
    get journal() {
      return home.name;
    },
    database,
    quarantine,
    waitMs: settings.DB_POOL_WAIT_MS,
    log,
  });
  // Without Redis this instance is the only one on its database. Its predecessor's usage must be counted before it
  // admits calls.
  const isAlone = settings.REDIS_URL === undefined;
  const adoption: Adoption = {
    root,
    get own() {
      return home.name;
    },
    db,
    quarantine,
    limits,
    watch: new HeartbeatWatch(),
    log,
  };
  const adopting = adoptRepeatedly(adoption, isAlone);
  return { home, database, writer, flusher, direct, sync, adopting, log };
}

async function drain(parts: Parts, limitMs: number): Promise<void> {
  const { writer, flusher, log } = parts;
  writer.close();
  const limit = new AbortController();
  try {
    await within(settle(parts, limit.signal), limitMs, () => new Error("the time is over"));
  } catch (thrown) {
    const waiting = flusher.unflushedRecords;
    log.warn({ err: thrown, waiting }, "usage stays in the journal until the next start");
    await parts.home.folder?.lock.release().catch(() => undefined);
  } finally {
    limit.abort();
    flusher.stop();
  }
}

async function settle({ home, ...parts }: Parts, limit: AbortSignal): Promise<void> {
  await Promise.all([
    home.stop(),
    parts.adopting.stop(),
    parts.sync.settle(),
    flushUntilDone(parts.flusher, limit),
  ]);
  // Not earlier: calls that the last write refused reach the direct inserts only now.
  await parts.direct.settle();
  if (parts.writer.segments.length > 0) throw new Error("calls are still open");
  if (home.folder === undefined) return;
  await deleteCheckpoints(parts.database.db, home.folder.name);
  await removeJournalFolder(home.folder);
}

async function flushUntilDone(flusher: Flusher, limit: AbortSignal): Promise<void> {
  while (!limit.aborted) {
    try {
      await flusher.flush();
      return;
    } catch {
      await sleep(DRAIN_RETRY_MS);
    }
  }
}
