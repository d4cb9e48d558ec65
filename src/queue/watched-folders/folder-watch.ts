import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import { DatabaseError, isFromDatabase, toDatabaseError } from "../../db/database-error.ts";
import type { SessionLocks } from "../../db/locks/advisory-locks.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { within } from "../../lib/time/within.ts";
import {
  createFolderReader,
  FolderAway,
  type FolderReader,
  type LeftOut,
} from "./folder-reader.ts";
import { FolderMemory, lookAtFolder } from "./look-at-folder.ts";
import { writeFolder } from "./watched-rows.ts";

/** A replica that cannot see the folder waits this many intervals, so that another one takes it over. */
const AWAY_INTERVALS = 2.5;
/** Looking at very many files takes long; the pause is a multiple of that time, shorter while files settle. */
const PAUSE_PER_LOOK = 4;
const PAUSE_PER_LOOK_SETTLING = 1;
const PAUSE_MAX_MS = 30_000;
/** How often this replica records that it names the folder, even while it cannot see it. */
const RENEWAL_MS = 3_600_000;
/** A query that takes longer is abandoned together with the look; if it succeeds after all, no event is fired twice. */
const QUERY_TIMEOUT_MS = 60_000;
/** A look in progress when the server stops has this long to end. */
const CLOSE_WAIT_MS = 1_000;

/**
 * - `starting`: not looked at yet.
 * - `watched`: this replica looks at it.
 * - `elsewhere`: another replica does.
 * - `away`: it is missing or unreadable; no events are fired until it returns.
 * - `waiting`: it could not be compared with the known files, mostly because the database is unavailable.
 */
export type FolderState = "starting" | "watched" | "elsewhere" | "away" | "waiting";

export interface WatchedFolder {
  readonly folder: string;
  readonly state: FolderState;
  /** Unix milliseconds. */
  readonly since: number;
  /** The cause of the states `away` and `waiting`. */
  readonly cause: string | null;
  /** Number of files at this replica's last look. */
  readonly files: number | null;
  /** When this replica last looked, or tried to, in Unix milliseconds. */
  readonly checkedAt: number | null;
}

/** The settings for intervals and timeouts of looks. */
export type WatchTimes = Pick<
  Settings,
  "WATCH_INTERVAL_MS" | "WATCH_SETTLE_MS" | "WATCH_ANSWER_TIMEOUT_MS"
>;

export interface FolderWatchOptions {
  /**
   * The interval runs from the end of one look to the next, and between two attempts to become the replica that looks.
   */
  readonly times: WatchTimes;
  readonly folder: string;
  readonly db: Db;
  readonly locks: SessionLocks;
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock, by which files settle. */
  readonly steadyNow: () => number;
  readonly log: Log;
  readonly onFired: () => void;
}

/** Looks at one folder at an interval, on one of the replicas that watch it. */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #reader: FolderReader;
  readonly #stopping = new AbortController();
  #facts: WatchedFolder;
  #memory: FolderMemory;
  #term: number | undefined;
  #device: string | undefined;
  /** Unix milliseconds of the last renewal. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #leftOut = "";
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: FolderWatchOptions) {
    const { folder, clock, times } = options;
    this.#options = options;
    this.#reader = createFolderReader(folder, times.WATCH_ANSWER_TIMEOUT_MS);
    this.#memory = this.#createMemory();
    const since = clock.now();
    this.#facts = {
      ...{ folder, state: "starting", since },
      ...{ cause: null, files: null, checkedAt: null },
    };
    this.#lookIn(0);
  }

  facts(): WatchedFolder {
    return this.#facts;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    const waited = new Promise((resolve) => setTimeout(resolve, CLOSE_WAIT_MS).unref());
    await Promise.race([this.#turn, waited]);
    this.#reader.close();
  }

  #lookIn(pauseMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#turn = this.#take().then((nextMs) => {
        this.#facts = { ...this.#facts, checkedAt: this.#options.clock.now() };
        this.#lookIn(nextMs);
      });
    }, pauseMs).unref();
  }

  /** Resolves with the pause until the next attempt. Never rejects. */
  async #take(): Promise<number> {
    const { folder, locks, times } = this.#options;
    const intervalMs = times.WATCH_INTERVAL_MS;
    const beganMs = performance.now();
    try {
      await this.#renew();
      const term = await locks.hold(folder);
      // The memory may have become stale while another replica looked, or may have looked.
      if (term !== this.#term || term === undefined) this.#memory = this.#createMemory();
      this.#term = term;
      if (term === undefined) {
        this.#become("elsewhere");
        return intervalMs;
      }
      await this.#look();
      const isSettling = this.#memory.settling.count > 0;
      const perLook = isSettling ? PAUSE_PER_LOOK_SETTLING : PAUSE_PER_LOOK;
      const pauseMs = (performance.now() - beganMs) * perLook;
      return Math.max(intervalMs, Math.min(pauseMs, PAUSE_MAX_MS));
    } catch (thrown) {
      if (this.#stopping.signal.aborted) return 0;
      if (!(thrown instanceof FolderAway)) {
        this.#wait(thrown);
        return intervalMs;
      }
      this.#become("away", { cause: thrown.message });
      await locks.release(folder);
      return intervalMs * AWAY_INTERVALS;
    }
  }

  #createMemory(): FolderMemory {
    const { times, steadyNow } = this.#options;
    return new FolderMemory({ settleMs: times.WATCH_SETTLE_MS, steadyNow });
  }

  /** Keeps other replicas, when they start, from treating the folder as no longer named. */
  async #renew(): Promise<void> {
    const { folder, clock } = this.#options;
    const now = clock.now();
    if (Math.abs(now - this.#renewedAt) < RENEWAL_MS) return;
    await this.#ask((db) => writeFolder(db, folder, { now }));
    this.#renewedAt = now;
  }

  #ask<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    const tooLate = () => new DatabaseError("TIMEOUT", "The query timed out.");
    return within(work(this.#options.db), QUERY_TIMEOUT_MS, tooLate);
  }

  async #look(): Promise<void> {
    const { folder, clock, onFired } = this.#options;
    const outcome = await lookAtFolder({
      folder,
      clock,
      onFired,
      ask: (work) => this.#ask(work),
      reader: this.#reader,
      memory: this.#memory,
      device: this.#device,
      stopping: this.#stopping.signal,
    });
    this.#device = outcome.device;
    this.#become("watched", { files: outcome.files });
    this.#reportLeftOut(outcome.leftOut);
  }

  #wait(thrown: unknown): void {
    const { folder, log } = this.#options;
    const isDatabase = thrown instanceof DatabaseError || isFromDatabase(thrown);
    const isNew = this.#facts.state !== "waiting";
    if (!isDatabase && isNew)
      log.error({ err: thrown, folder }, "a watched folder could not be checked");
    const cause = isDatabase ? toDatabaseError(thrown).message : "the look failed, see the log";
    this.#become("waiting", { cause });
  }

  #become(
    state: FolderState,
    {
      cause = null,
      files = this.#facts.files,
    }: Partial<Pick<WatchedFolder, "cause" | "files">> = {},
  ): void {
    const { folder, clock, log } = this.#options;
    const before = this.#facts;
    const isSame = before.state === state;
    const since = isSame ? before.since : clock.now();
    this.#facts = { ...before, state, since, cause, files };
    if (isSame) return;
    if (state === "away") {
      log.warn({ folder, cause }, AWAY_TEXT);
    } else if (state === "waiting") {
      log.warn(
        { folder, cause },
        "a watched folder cannot be compared with what is known of it; it is retried",
      );
    } else if (state === "watched") {
      log.info({ folder, files }, "watching a folder");
    } else {
      log.info({ folder }, "another replica watches a folder");
    }
  }

  /** Logs once which kinds of entries are left out. */
  #reportLeftOut({ unreadable, mounts, names }: LeftOut): void {
    const kinds = [unreadable, mounts, names].map((count) => count > 0).join();
    if (kinds === this.#leftOut) return;
    this.#leftOut = kinds;
    if (unreadable + mounts + names === 0) return;
    const { folder, log } = this.#options;
    log.warn(
      { folder, unreadable, mounts, names },
      "some of a watched folder is left out: files and folders that cannot be read, other file systems below it (name " +
        "them in WATCH_DIRS), and paths that are too long or not UTF-8",
    );
  }
}

const AWAY_TEXT =
  "a watched folder is unavailable; no events for its files until it is back. If another folder replaces it on purpose, " +
  "start once without it in WATCH_DIRS; with several replicas, a day after the last one that had it there";
