import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { BACKUPS_FOLDER } from "../../../config/folders.ts";
import { BackupError } from "../backup-format.ts";
import type { Places } from "./places.ts";

/** Names ignored besides backups: leftovers of a lock, and entries that come with a disk or a repository. */
const NOTHING = /^(process\.lock.*|lost\+found|\.gitkeep)$/;
const NAMES_SHOWN = 8;

/** Throws a BackupError unless the folders are empty except for the backup itself. */
export async function refuseOccupiedFolders(places: Places, backup: string): Promise<void> {
  const { dataFolder, journals, files } = places;
  const settings = new Map([
    [files, "FILES_DIR"],
    [journals, "JOURNAL_DIR"],
    [dataFolder, "DATA_DIR"],
  ]);
  for (const [folder, setting] of settings) {
    const names = (await namesIn(folder)).filter((name) => {
      const path = join(folder, name);
      if ([journals, files, places.license].includes(path)) return false;
      return !NOTHING.test(name) && name !== BACKUPS_FOLDER && path !== backup;
    });
    if (names.length === 0) continue;
    throw new BackupError(
      `${folder} is not empty (${shown(names)}), and a restore overwrites nothing. Move that away, or name another folder ` +
        `by ${setting}.`,
    );
  }
}

/** Throws a BackupError unless the database is empty. */
export function refuseOccupiedDatabase(relations: readonly string[]): void {
  if (relations.length === 0) return;
  throw new BackupError(
    `The database is not empty (${shown(relations)}), and a restore overwrites nothing. Create a new one, and name it by ` +
      "DATABASE_URL.",
  );
}

/** Returns whether an entry exists at this path. */
export async function isThere(path: string): Promise<boolean> {
  return (await namesIn(dirname(path))).includes(basename(path));
}

function shown(names: readonly string[]): string {
  const more = names.length > NAMES_SHOWN ? ", …" : "";
  return `${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return [];
    throw thrown;
  }
}
