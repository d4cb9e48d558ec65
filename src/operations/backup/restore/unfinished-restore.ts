import { open, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Settings } from "../../../config/settings.ts";
import { makeFolder } from "../../../lib/folders/make-folder.ts";
import { StartRefusal } from "../../../lib/folders/start-refusal.ts";
import { syncFolder } from "../../../lib/folders/sync-folder.ts";

/** The name of the mark in DATA_DIR, which exists from before the first change of a restore until its end. */
const MARK = "restore.unfinished";

/**
 * Refuses a start, or anything else that needs a complete installation, between the beginning and the end of a restore.
 */
export async function refuseUnfinishedRestore({
  DATA_DIR,
}: Pick<Settings, "DATA_DIR">): Promise<void> {
  if ((await readUnfinishedRestore(resolve(DATA_DIR))) === undefined) return;
  throw new StartRefusal(
    `${join(DATA_DIR, MARK)} says that a restore was not finished, so what is here is not whole. ` +
      "Run `restore` again with the same backup, or empty DATA_DIR and the database to begin anew.",
  );
}

/** Returns the id of the backup whose restore was begun here and not finished. */
export async function readUnfinishedRestore(dataFolder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataFolder, MARK), "utf8")).trim();
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}

/** Notes that the restore of this backup has begun; to be called before anything is changed. */
export async function markUnfinished(dataFolder: string, backupId: string): Promise<void> {
  await makeFolder(dataFolder);
  const draft = join(dataFolder, `${MARK}.draft`);
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(`${backupId}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(dataFolder, MARK));
  await syncFolder(dataFolder);
}

/** Notes that it is complete, or that nothing was changed after all. */
export async function unmarkUnfinished(dataFolder: string): Promise<void> {
  await rm(join(dataFolder, MARK), { force: true });
  await syncFolder(dataFolder);
}
