import { join, resolve } from "node:path";
import type { Settings } from "./settings.ts";

// Where the service writes much and often, as absolute paths.

/** Where backups go that are given no name, under DATA_DIR; it may stand in a folder that a restore finds empty. */
export const BACKUPS_FOLDER = "backups";

/** The folder of all journals. */
export function journalsFolder({
  DATA_DIR,
  JOURNAL_DIR,
}: Pick<Settings, "DATA_DIR" | "JOURNAL_DIR">): string {
  return resolve(JOURNAL_DIR ?? join(DATA_DIR, "journal"));
}

/** The files of the embedded database. */
export function databaseFolder(dataFolder: string): string {
  return resolve(dataFolder, "database");
}
