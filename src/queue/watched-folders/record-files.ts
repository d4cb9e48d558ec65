import { and, inArray, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { watchedFiles } from "../../db/tables/watched-files.ts";
import { fireEvents } from "../internal-events.ts";
import type { SeenFile } from "./folder-reader.ts";
import { isOfFolder, toSeenFile } from "./watched-rows.ts";

export interface Recording {
  readonly folder: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Records existing files, and fires `file.uploaded` for those that differ from the rows, in one transaction. A second
 * replica that records the same fires nothing. Resolves with the number of files that had no row.
 */
export function recordUploads(
  db: Db,
  files: readonly SeenFile[],
  { folder, now }: Recording,
): Promise<number> {
  return withTransaction(db, async (transaction) => {
    const changed = await writeFiles(transaction, folder, files);
    const events = changed.map(({ isNew, ...file }) => ({
      kind: "file.uploaded" as const,
      body: {
        ...factsOf(folder, file),
        change: isNew ? ("created" as const) : ("modified" as const),
      },
    }));
    await fireEvents(transaction, events, now);
    return changed.filter(({ isNew }) => isNew).length;
  });
}

/** Deletes the rows of files that are gone, and fires `file.deleted` for rows that existed, in one transaction. */
export function recordDeletions(
  db: Db,
  paths: readonly string[],
  { folder, now }: Recording,
): Promise<void> {
  return withTransaction(db, async (transaction) => {
    const rows = await transaction
      .delete(watchedFiles)
      .where(and(isOfFolder(folder), inArray(watchedFiles.path, [...paths])))
      .returning();
    const events = rows.map((row) => ({
      kind: "file.deleted" as const,
      body: factsOf(folder, toSeenFile(row)),
    }));
    await fireEvents(transaction, events, now);
  });
}

/** Records files without events. Resolves with those that differed from the rows. */
export async function writeFiles(
  db: Db,
  folder: string,
  files: readonly SeenFile[],
): Promise<readonly (SeenFile & { readonly isNew: boolean })[]> {
  if (files.length === 0) return [];
  const { size, modifiedAt } = watchedFiles;
  // Always in the same order, so that two writers of the same files do not deadlock.
  const rows = [...files]
    .sort((one, other) => (one.path < other.path ? -1 : 1))
    .map((file) => ({
      folder,
      path: file.path,
      size: file.size,
      modifiedAt: new Date(file.modifiedMs),
    }));
  const written = await db
    .insert(watchedFiles)
    .values(rows)
    .onConflictDoUpdate({
      target: [watchedFiles.folder, watchedFiles.path],
      set: { size: sql`excluded.size`, modifiedAt: sql`excluded.modified_at` },
      setWhere: sql`(${size}, ${modifiedAt}) is distinct from (excluded.size, excluded.modified_at)`,
    })
    .returning({
      path: watchedFiles.path,
      size,
      modifiedAt,
      // An updated row carries the lock of the transaction that changed it, which is this one.
      isNew: sql<boolean>`xmax = 0`,
    });
  return written.map(({ isNew, ...row }) => ({ ...toSeenFile(row), isNew }));
}

function factsOf(folder: string, { path, size, modifiedMs }: SeenFile) {
  return {
    folder,
    path,
    name: path.slice(path.lastIndexOf("/") + 1),
    size,
    modified_at: new Date(modifiedMs).toISOString(),
    source: "watched_folder" as const,
  };
}
