import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BACKUPS_FOLDER } from "../../config/folders.ts";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";

/** Without these files the database's program creates a new database over the old one, or aborts. */
const ESSENTIAL = ["PG_VERSION", join("global", "pg_control")];

/**
 * Returns whether the folder contains a database. A database is created under another name and moved here when it is
 * complete. So a folder with files but without the essential ones is always damaged; throws a StartRefusal then.
 */
export async function hasDatabase(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  if (names.length === 0) return false;
  const missing: string[] = [];
  for (const name of ESSENTIAL) {
    const { size } = await stat(join(folder, name)).catch(() => ({ size: 0 }));
    if (size === 0) missing.push(name);
  }
  if (missing.length === 0) return true;
  const verb = missing.length === 1 ? "is" : "are";
  throw await openRefusal(folder, `${missing.join(" and ")} ${verb} missing or empty.`);
}

/** Builds the error for a database that cannot be opened. It names the reason and how to continue with a backup. */
export async function openRefusal(folder: string, reason: string): Promise<StartRefusal> {
  const dataFolder = dirname(folder);
  const aside = `${dataFolder}.damaged`;
  const backup = await newestBackup(join(dataFolder, BACKUPS_FOLDER));
  const file = backup === undefined ? "FILE" : join(aside, BACKUPS_FOLDER, backup);
  const source =
    backup === undefined ? "with a backup" : "with the newest backup found in this folder";
  return new StartRefusal(
    `The embedded database in ${folder} cannot be opened: ${reason} It was left as it is. ` +
      `To go on ${source}, run: mv ${dataFolder} ${aside} && bun run restore ${file} (or: npm run restore -- ${file})`,
  );
}

/** Returns the newest backup; the names sort by age. */
async function newestBackup(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(".tar.gz"))
    .sort()
    .at(-1);
}
