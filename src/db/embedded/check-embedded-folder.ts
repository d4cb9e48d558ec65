import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BACKUPS_FOLDER } from "../../config/folders.ts";
import { StartRefusal } from "../../lib/start-refusal.ts";

/** Without these the database's program makes a new database over the old one, or aborts. */
const ESSENTIAL = ["PG_VERSION", join("global", "pg_control")];

/**
 * Whether there is a database in this folder. One is made under another name and moved here when it is whole, so a folder
 * that has files but not the essential ones is damaged at any time. Throws a StartRefusal then.
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

/** The database in this folder cannot be opened: says why, and how to go on with a backup. */
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

/** Their names sort by age. */
async function newestBackup(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(".tar.gz"))
    .sort()
    .at(-1);
}
