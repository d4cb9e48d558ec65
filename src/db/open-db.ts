import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Settings } from "../config/settings.ts";
import { makeFolder, openModeOf } from "../lib/folders/make-folder.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import type { Log } from "../lib/log.ts";
import { awaitProcessLock } from "../lib/process-lock/process-lock.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded/open-embedded.ts";
import { openPostgres } from "./open-postgres.ts";

const MODULES = new URL("../../node_modules/", import.meta.url);

/**
 * Returns the path of the prepared empty database, which makes the first start faster.
 * scripts/prepare-embedded-database.mjs creates it after the dependencies are installed; its name contains the version
 * it fits.
 */
export function embeddedArchive(): string {
  const description = readFileSync(new URL("@electric-sql/pglite/package.json", MODULES), "utf8");
  const { version } = JSON.parse(description) as { version: string };
  const name = `.cache/inference-gateway/embedded-database-${version}.tar.gz`;
  return fileURLToPath(new URL(name, MODULES));
}

/** How long a statement may keep the embedded database from answering. */
export const STATEMENT_TIMEOUT_MS = 60_000;

type StoreSettings = Pick<
  Settings,
  "DATABASE_URL" | "DATA_DIR" | "DB_POOL_MAX" | "DB_POOL_WAIT_MS"
>;

/**
 * Opens the store: PostgreSQL at DATABASE_URL, else the embedded database under DATA_DIR. Throws a StartRefusal when
 * the server cannot be reached or another process uses that folder.
 *
 * @param limitMs how long a statement or a transaction that begins now may keep the embedded database from answering.
 */
export async function openDatabase(
  settings: StoreSettings,
  log: Log,
  limitMs: () => number = () => STATEMENT_TIMEOUT_MS,
): Promise<Database> {
  const dataFolder = resolve(settings.DATA_DIR);
  const mode = await openModeOf(dataFolder);
  if (mode !== undefined)
    log.warn(
      { dataFolder, mode },
      "other users of this machine can access DATA_DIR; run `chmod 700` on it",
    );
  if (settings.DATABASE_URL !== undefined)
    return openPostgres(settings.DATABASE_URL, settings, log);
  await makeFolder(dataFolder).catch((cause: unknown) => {
    throw new StartRefusal("DATA_DIR: the folder cannot be created there.", { cause });
  });
  const lock = await awaitProcessLock(dataFolder, { onLost: () => leaveTo(dataFolder) }, () =>
    log.warn(
      { dataFolder },
      "DATA_DIR was last used by a process elsewhere; waiting some seconds to see whether it still runs",
    ),
  );
  try {
    const database = await openEmbedded({
      dataFolder,
      archive: embeddedArchive(),
      waitMs: settings.DB_POOL_WAIT_MS,
      limitMs,
      log,
    });
    return { ...database, close: () => database.close().finally(() => lock.release()) };
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

/** Ends the process by an uncaught error: two processes on one embedded database destroy it. */
function leaveTo(dataFolder: string): never {
  throw new Error(
    `Another process has taken ${dataFolder} (DATA_DIR) while this one was suspended, so this one ends. ` +
      "Run one server on it, or give each a folder of its own.",
  );
}
