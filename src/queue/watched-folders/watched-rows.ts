import { and, asc, count, eq, gt, inArray, ne, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { watchedFiles } from "../../db/tables/watched-files.ts";
import type { SeenFile } from "./folder-reader.ts";

/**
 * The row of the folder itself: in `size` its inode, in `modifiedAt` when a replica that names it last said so. No file
 * has this path.
 */
const FOLDER_ITSELF = "/";

export function isOfFolder(folder: string): SQL | undefined {
  return and(eq(watchedFiles.folder, folder), ne(watchedFiles.path, FOLDER_ITSELF));
}

export function toSeenFile(row: {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: Date;
}): SeenFile {
  return { path: row.path, size: row.size, modifiedMs: row.modifiedAt.getTime() };
}

/** The inode of the root when it was last seen; undefined when the folder was never looked at to its end. */
export async function readKnownInode(db: Db, folder: string): Promise<number | undefined> {
  const [row] = await db
    .select({ inode: watchedFiles.size })
    .from(watchedFiles)
    .where(and(eq(watchedFiles.folder, folder), eq(watchedFiles.path, FOLDER_ITSELF)));
  return row?.inode;
}

/** @param now Unix milliseconds. */
export async function writeKnownInode(
  db: Db,
  folder: string,
  { inode, now }: { readonly inode: number; readonly now: number },
): Promise<void> {
  const row = { folder, path: FOLDER_ITSELF, size: inode, modifiedAt: new Date(now) };
  await db
    .insert(watchedFiles)
    .values(row)
    .onConflictDoUpdate({
      target: [watchedFiles.folder, watchedFiles.path],
      set: { size: inode, modifiedAt: row.modifiedAt },
    });
}

/** A replica names the folder at `now`, in Unix milliseconds; of one that was never looked at to its end nothing is kept. */
export async function renewFolder(db: Db, folder: string, now: number): Promise<void> {
  await db
    .update(watchedFiles)
    .set({ modifiedAt: new Date(now) })
    .where(and(eq(watchedFiles.folder, folder), eq(watchedFiles.path, FOLDER_ITSELF)));
}

/** Whether a replica has named the folder since then, in Unix milliseconds. */
export async function isFolderNamedSince(db: Db, folder: string, since: number): Promise<boolean> {
  const [row] = await db
    .select({ namedAt: watchedFiles.modifiedAt })
    .from(watchedFiles)
    .where(and(eq(watchedFiles.folder, folder), eq(watchedFiles.path, FOLDER_ITSELF)));
  return row !== undefined && row.namedAt.getTime() >= since;
}

/** What is known of these paths, by path. */
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

/** The known files behind a path in the order of the database, `limit` at most. */
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

export async function readKnownFolders(db: Db): Promise<readonly string[]> {
  // One step through the index a folder, however many files each has.
  const rows = await db.execute<{ folder: string }>(sql`
    with recursive folders as (
      (select folder from ${watchedFiles} order by folder limit 1)
      union all
      select (select next.folder from ${watchedFiles} as next where next.folder > folders.folder
        order by next.folder limit 1)
      from folders where folders.folder is not null
    )
    select folder from folders where folder is not null`);
  return rows.map(({ folder }) => folder);
}

/** Forgets a folder and all its files, without events. */
export async function forgetFolder(db: Db, folder: string): Promise<void> {
  await db.delete(watchedFiles).where(eq(watchedFiles.folder, folder));
}
