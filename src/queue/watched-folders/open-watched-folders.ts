import { resolve } from "node:path";
import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import {
  ADVISORY_LOCK,
  openSessionLocks,
  type SessionLocks,
} from "../../db/locks/advisory-locks.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { FolderWatch, type WatchedFolder, type WatchTimes } from "./folder-watch.ts";
import { forgetFolder, readKnownFolders } from "./watched-rows.ts";

/**
 * A replica that names a folder may be down for a while, or may be unable to see it now and so have released its lock.
 */
const NAMED_FOR_MS = 86_400_000;

export interface OpenWatchedFoldersOptions {
  readonly settings: Pick<Settings, "WATCH_DIRS" | "DATABASE_URL" | "REDIS_URL"> & WatchTimes;
  readonly db: Db;
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock; the process's own unless given. */
  readonly steadyNow?: () => number;
  readonly log: Log;
  /** Called after events were stored. */
  readonly onFired: () => void;
}

export interface WatchedFolders {
  /** The state of each folder of WATCH_DIRS on this replica. */
  readonly list: () => readonly WatchedFolder[];
  readonly close: () => Promise<void>;
}

/**
 * Starts to watch the folders of WATCH_DIRS; relative ones start at the server's working directory. Of the replicas
 * that watch the same folder one looks at it. A folder that is no longer named is forgotten, without events:
 * immediately by the only replica, after a day by one of several.
 */
export function openWatchedFolders(options: OpenWatchedFoldersOptions): WatchedFolders {
  const { settings, steadyNow = () => performance.now(), ...rest } = options;
  const folders = [...new Set(settings.WATCH_DIRS.map((folder) => resolve(folder)))];
  const locks = openSessionLocks({
    url: settings.DATABASE_URL,
    space: ADVISORY_LOCK.watchedFolder,
  });
  const forgotten = forgetOthers(folders, options, locks);
  const watches = folders.map(
    (folder) => new FolderWatch({ ...rest, steadyNow, times: settings, folder, locks }),
  );
  return {
    list: () => watches.map((watch) => watch.facts()),
    async close() {
      await Promise.all([forgotten, ...watches.map((watch) => watch.close())]);
      await locks.close();
    },
  };
}

/** Forgets the other folders, except those that another replica names. Never rejects: the next start tries again. */
async function forgetOthers(
  folders: readonly string[],
  { db, log, clock, settings }: OpenWatchedFoldersOptions,
  locks: SessionLocks,
): Promise<void> {
  // Without Redis, this is the only replica.
  const areOthers = settings.REDIS_URL !== undefined;
  const since = clock.now() - NAMED_FOR_MS;
  try {
    const known = await readKnownFolders(db);
    for (const [folder, namedAt] of known) {
      if (folders.includes(folder) || (areOthers && namedAt >= since)) continue;
      if ((await locks.hold(folder)) === undefined) continue;
      await forgetFolder(db, folder);
      await locks.release(folder);
      log.info({ folder }, "a folder is no longer watched; the records of its files were deleted");
    }
    if (folders.length === 0) await locks.close();
  } catch (thrown) {
    const cause = toDatabaseError(thrown).message;
    log.warn(
      { cause },
      "the records of folders that are no longer watched could not be deleted; this will be retried",
    );
  }
}
