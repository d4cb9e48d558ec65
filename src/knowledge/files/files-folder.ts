import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Db } from "../../db/context.ts";
import { installation } from "../../db/tables/installation.ts";
import { files } from "../../db/tables/knowledge.ts";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import { randomBase62 } from "../../lib/id.ts";

/** The file in FILES_DIR that holds the folder's id. */
const MARK = "folder-id";
const ID = /^[0-9A-Za-z]{22}$/;

/** Throws a `StartRefusal` when the database has files, and their contents are in another folder than this one. */
export async function refuseOtherFolder(db: Db, folder: string): Promise<void> {
  const id = await readRegistered(db);
  if (id === null || id === (await readMark(folder)) || !(await hasFiles(db))) return;
  throw new StartRefusal(
    `FILES_DIR: ${folder} is not the folder with the contents of the uploaded files of this database (its file ` +
      `\`${MARK}\` should hold ${id}). Name the folder that every replica shares, or restore a backup.`,
  );
}

/**
 * Confirms, in the transaction that adds a file, that the contents of all files are in this folder. The folder of the
 * first file is registered. Returns false when the contents are in another folder.
 */
export async function claimFolder(transaction: Db, folder: string): Promise<boolean> {
  if ((await readMark(folder)) === ((await readRegistered(transaction)) ?? "")) return true;
  // The row's lock: of two replicas with different folders only one may be the first.
  const [row] = await transaction
    .select({ id: installation.filesFolderId })
    .from(installation)
    .for("update");
  if (row === undefined) return false;
  // Another upload may have written it meanwhile.
  const mark = await readMark(folder);
  if (row.id !== null && row.id === mark) return true;
  if (row.id !== null && (await hasFiles(transaction))) return false;
  const id = mark ?? randomBase62(22);
  await writeMark(folder, id);
  await transaction.update(installation).set({ filesFolderId: id });
  return true;
}

/** Marks a folder whose contents were restored together with their rows. */
export async function markRestoredFolder(transaction: Db, folder: string): Promise<void> {
  const id = await readRegistered(transaction);
  if (id !== null) await writeMark(folder, id);
}

async function writeMark(folder: string, id: string): Promise<void> {
  await makeFolder(folder);
  const draft = join(folder, `${MARK}.draft`);
  await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true });
  await rename(draft, join(folder, MARK));
}

async function readMark(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, MARK), "utf8").catch(() => "");
  const id = text.trim();
  return ID.test(id) ? id : undefined;
}

async function readRegistered(db: Db): Promise<string | null> {
  const [row] = await db.select({ id: installation.filesFolderId }).from(installation);
  return row?.id ?? null;
}

async function hasFiles(db: Db): Promise<boolean> {
  return (await db.select({ id: files.id }).from(files).limit(1)).length > 0;
}
