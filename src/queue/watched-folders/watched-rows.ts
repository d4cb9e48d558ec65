import { and, asc, count, eq, gt, inArray, type SQL } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { watchedFiles, watchedFolders } from "../../db/tables/watched-files.ts";
import type { SeenFile } from "./folder-reader.ts";

export function toSeenFile(row: {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: Date;
}): SeenFile {
  return { path: row.path, size: row.size, modifiedMs: row.modifiedAt.getTime() };
}

export interface KnownRoot {
  /** Of the root, when it was last seen. */
  readonly inode: number;
  /** False until a file was seen in it. */
  readonly hadFiles: boolean;
}

/** Resolves with undefined when the folder was never read to its end. */
export async function readKnownRoot(db: Db, folder: string): Promise<KnownRoot | undefined> {
  const [row] = await db.select().from(watchedFolders).where(eq(watchedFolders.folder, folder));
  const { inode = null, hadFiles = false } = row ?? {};
  return inode === null ? undefined : { inode, hadFiles };
}

/** What is unset keeps its known value. */
export interface FolderFacts extends Partial<KnownRoot> {
  /** Unix milliseconds. */
  readonly now: number;
}

/** Records that this replica has the folder in WATCH_DIRS at `now`, and what it knows of its root. */
export async function writeFolder(
  db: Db,
  folder: string,
  { now, ...root }: FolderFacts,
): Promise<void> {
  const facts = { namedAt: new Date(now), ...root };
  await db
    .insert(watchedFolders)
    .values({ folder, ...facts })
    .onConflictDoUpdate({ target: watchedFolders.folder, set: facts });
}

/** Reads the known files among these paths, by path. */
export async function readKnownFiles(
  db: Db,
  folder: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, SeenFile>> {
  if (paths.length === 0) return new Map();
  const rows = await db
    .select()
    .from(watchedFiles)
    .where(and(isOfFolder(folder), inArray(watchedFiles.path, [...paths])));
  return new Map(rows.map((row) => [row.path, toSeenFile(row)]));
}

/** Reads the known files after a path in the order of the database, at most `limit`. */
export async function readKnownFilesAfter(
  db: Db,
  folder: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly SeenFile[]> {
  const rows = await db
    .select()
    .from(watchedFiles)
    .where(and(isOfFolder(folder), gt(watchedFiles.path, after)))
    .orderBy(asc(watchedFiles.path))
    .limit(limit);
  return rows.map(toSeenFile);
}

export async function countKnownFiles(db: Db, folder: string): Promise<number> {
  const [row] = await db.select({ files: count() }).from(watchedFiles).where(isOfFolder(folder));
  return row?.files ?? 0;
}

/** Reads every known folder, with the time when a replica last named it, in Unix milliseconds. */
export async function readKnownFolders(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.select().from(watchedFolders);
  return new Map(rows.map(({ folder, namedAt }) => [folder, namedAt.getTime()]));
}

/** Deletes the files of a folder, without events. */
export async function forgetFiles(db: Db, folder: string): Promise<void> {
  await db.delete(watchedFiles).where(isOfFolder(folder));
}

/** Deletes a folder and all its files, without events. */
export function forgetFolder(db: Db, folder: string): Promise<void> {
  return withTransaction(db, async (transaction) => {
    await forgetFiles(transaction, folder);
    await transaction.delete(watchedFolders).where(eq(watchedFolders.folder, folder));
  });
}

export function isOfFolder(folder: string): SQL {
  return eq(watchedFiles.folder, folder);
}
