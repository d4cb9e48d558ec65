import { join, resolve } from "node:path";
import type { Settings } from "./settings.ts";

// Absolute paths of the folders that the service writes to often.

/**
 * The folder for backups without a given name, under DATA_DIR. A restore accepts a folder that contains only this one.
 */
export const BACKUPS_FOLDER = "backups";

/** The folder of all journals. */
export function journalsFolder({
  DATA_DIR,
  JOURNAL_DIR,
}: Pick<Settings, "DATA_DIR" | "JOURNAL_DIR">): string {
  return resolve(JOURNAL_DIR ?? join(DATA_DIR, "journal"));
}

/** The folder of uploaded files. */
export function filesFolder({
  DATA_DIR,
  FILES_DIR,
}: Pick<Settings, "DATA_DIR" | "FILES_DIR">): string {
  return resolve(FILES_DIR ?? join(DATA_DIR, "files"));
}

/** The folder of the embedded database's files. */
export function databaseFolder(dataFolder: string): string {
  return resolve(dataFolder, "database");
}

/** The folder of the copy that BI keys read where the database is the embedded one. It can be made again at any time. */
export function copyFolder(dataFolder: string): string {
  return resolve(dataFolder, "bi");
}
