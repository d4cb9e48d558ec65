import { join, resolve } from "node:path";
import { BACKUPS_FOLDER, databaseFolder } from "../../config/folders.ts";
import type { Settings } from "../../config/settings.ts";
import { openDatabase } from "../../db/open-db.ts";
import type { Log } from "../../lib/log.ts";
import { askOrOpen } from "../ask-or-open.ts";
import { askServer } from "./ask-server.ts";
import { BackupError } from "./backup-format.ts";
import { makeBackup } from "./make-backup.ts";
import { isThere } from "./restore/refuse-occupied.ts";
import { refuseUnfinishedRestore } from "./restore/unfinished-restore.ts";
import { refuseTaken, type WrittenBackup, writeBackupFile } from "./write-backup-file.ts";

export interface CreateBackupOptions {
  readonly settings: Settings;
  /** Undefined: a name with the time, under DATA_DIR. */
  readonly file: string | undefined;
  readonly productVersion: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly log: Log;
  readonly onWritten: (bytes: number) => void;
  /** Aborts the backup and leaves no file. */
  readonly signal?: AbortSignal;
}

/**
 * Writes a backup of this installation into a new file, even while its server runs. PostgreSQL is read directly. The
 * embedded database belongs to one process: a running server makes the backup, else this process opens the folder.
 * Throws a BackupError or a StartRefusal, which name the remedy.
 */
export async function createBackup(
  options: CreateBackupOptions,
): Promise<WrittenBackup & { readonly file: string }> {
  const { settings, now, onWritten, signal } = options;
  await refuseUnfinishedRestore(settings);
  const file = resolve(options.file ?? join(settings.DATA_DIR, BACKUPS_FOLDER, nameOf(now)));
  await refuseTaken(file);
  const source = await openSource(options);
  try {
    return { file, ...(await writeBackupFile({ file, bytes: source.bytes, onWritten, signal })) };
  } finally {
    await source.close();
  }
}

interface Source {
  /** Compressed. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly close: () => Promise<void>;
}

function openSource(options: CreateBackupOptions): Promise<Source> {
  const { settings } = options;
  return askOrOpen<Source>(settings, {
    async ask() {
      const bytes = await askServer(settings.DATA_DIR);
      return bytes && { bytes, close: () => Promise.resolve() };
    },
    open: () => openOwn(options),
    refuse: isBusy,
  });
}

async function openOwn({
  settings,
  productVersion,
  now,
  log,
}: CreateBackupOptions): Promise<Source> {
  if (settings.DATABASE_URL === undefined) await refuseUnused(settings.DATA_DIR);
  const database = await openDatabase(settings, log);
  const backup = makeBackup({ settings, database, productVersion, now });
  return {
    bytes: backup.bytes,
    async close() {
      await backup.close();
      await database.close();
    },
  };
}

/**
 * Refuses a folder that was never used: opening it would create a database there, and a restore would then refuse it.
 */
async function refuseUnused(dataFolder: string): Promise<void> {
  if (await isThere(databaseFolder(dataFolder))) return;
  throw new BackupError(
    `There is nothing to back up: no database is in ${resolve(dataFolder)}. Give this command the DATA_DIR or the ` +
      "DATABASE_URL of the server.",
  );
}

/** Returns the default name, in UTC, so that names sort by age wherever they were made. */
function nameOf(now: number): string {
  const time = new Date(now).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
  return `inference-gateway-${time}.tar.gz`;
}

function isBusy(cause: Error): BackupError {
  return new BackupError(
    "Another process uses DATA_DIR and makes no backups: a server that stops just now, another backup or a restore. Run " +
      `\`backup\` again in a moment. ${cause.message}`,
    { cause },
  );
}
