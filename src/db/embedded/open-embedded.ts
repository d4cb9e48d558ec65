import { rm } from "node:fs/promises";
import { join } from "node:path";
import { databaseFolder } from "../../config/folders.ts";
import { makeSocketFolder } from "../../lib/folders/socket-folder.ts";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import { connect } from "../connect.ts";
import type { Db } from "../context.ts";
import type { Database } from "../database.ts";
import { hasDatabase } from "./check-embedded-folder.ts";
import { keepRunning } from "./keep-running.ts";
import { startEmbedded } from "./start-embedded.ts";

const WATCH_INTERVAL_MS = 5_000;

export interface OpenEmbeddedOptions {
  /** The parent of the database's folder; undefined keeps the database in memory. */
  readonly dataFolder: string | undefined;
  /** The file of a prepared database to start from; may be absent. */
  readonly archive: string | undefined;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  /**
   * Returns the time limit of a statement or transaction that begins now. The thread is replaced after it, because the
   * embedded database has no limit of its own.
   */
  readonly limitMs: () => number;
  readonly log: Log;
}

/**
 * Runs PostgreSQL in a thread of this process, reached over a private unix socket. The caller holds the folder's lock.
 */
export async function openEmbedded(options: OpenEmbeddedOptions): Promise<Database> {
  const { dataFolder, archive, waitMs, limitMs, log } = options;
  const wanted = dataFolder === undefined ? undefined : join(dataFolder, "database-socket");
  const socketFolder = await makeSocketFolder(wanted);
  const socketPath = join(socketFolder, "socket");
  const folder = dataFolder === undefined ? undefined : databaseFolder(dataFolder);
  let hasServed = false;
  const thread = await keepRunning(async (onLost) => {
    await rm(socketPath, { force: true });
    const isNew = folder === undefined || !(await hasDatabase(folder));
    // Do not create a new one while callers expect their data.
    if (isNew && hasServed && folder !== undefined) throw new StartRefusal(removedText(folder));
    const server = await startEmbedded({ folder, isNew, archive, socketPath }, onLost);
    hasServed = true;
    return server;
  }, log);
  const database = connect({
    kind: "embedded",
    waitMs,
    // There is only one session; a second connection would only queue.
    driver: {
      path: socketPath,
      max: 1,
      user: "postgres",
      database: "postgres",
    },
  });
  const watch = watchAnswers(database.db, limitMs, thread.replace);
  return {
    ...database,
    async close() {
      clearInterval(watch);
      await database.close();
      await thread.stop();
      await rm(socketFolder, { recursive: true, force: true });
    },
  };
}

function removedText(folder: string): string {
  return `The embedded database's folder ${folder} was removed while it was in use. Stop the server and restore a backup.`;
}

/** Checks the database periodically, and calls `onOverrun` when a statement keeps it from answering. */
function watchAnswers(
  db: Db,
  limitMs: () => number,
  onOverrun: (cause: string) => void,
): NodeJS.Timeout {
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    const statementMs = limitMs();
    const overrun = new Error(`no answer within ${statementMs} ms`);
    await within(db.execute("select 1"), statementMs, () => overrun).catch((thrown: unknown) => {
      if (thrown === overrun) onOverrun(overrun.message);
    });
    isAsking = false;
  };
  return setInterval(() => void ask(), Math.min(WATCH_INTERVAL_MS, limitMs())).unref();
}
