import { and, desc, inArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { vectorStoreFiles } from "../../db/tables/knowledge.ts";
import type { SeenFile } from "../../queue/watched-folders/folder-reader.ts";
import { type FolderOfStore, isOfFolder } from "./folder-files.ts";

/**
 * Returns those of these files that the store does not have, or has in another version. A batch, which somebody asked for,
 * also tries again what ended without being read; by itself a store does not, or such a file would never rest.
 */
export async function findChanged(
  db: Db,
  { batchId, ...folder }: FolderOfStore & { readonly batchId: string | null },
  seen: readonly SeenFile[],
): Promise<readonly SeenFile[]> {
  const known = await readLatest(db, folder, seen);
  return seen.filter((file) => {
    const row = known.get(file.path);
    // A batch that is resumed has tried its own files.
    const isOfOther = batchId !== null && row?.batchId !== batchId;
    return (row !== undefined && isOfOther && isUnread(row)) || isChanged(file, row);
  });
}

/**
 * Returns those of these files that are new or changed, and of the others those whose latest version was added before a
 * time and has failed by no fault of its own, as in an outage of the embedding engine.
 */
export async function findChangedAndFailed(
  db: Db,
  folder: FolderOfStore,
  { seen, before }: { readonly seen: readonly SeenFile[]; readonly before: Date },
): Promise<Record<"changed" | "failed", readonly SeenFile[]>> {
  const known = await readLatest(db, folder, seen);
  const changed = seen.filter((file) => isChanged(file, known.get(file.path)));
  const failed = seen.filter((file) => {
    const row = known.get(file.path);
    return !isChanged(file, row) && row !== undefined && isBlameless(row) && row.createdAt < before;
  });
  return { changed, failed };
}

type StoreFileRow = typeof vectorStoreFiles.$inferSelect;

/** Returns the latest version of each of these files, by its path. */
async function readLatest(
  db: Db,
  folder: FolderOfStore,
  seen: readonly SeenFile[],
): Promise<ReadonlyMap<string | null, StoreFileRow>> {
  if (seen.length === 0) return new Map();
  const paths = seen.map(({ path }) => path);
  const { sourcePath, createdAt } = vectorStoreFiles;
  const rows = await db
    .selectDistinctOn([sourcePath])
    .from(vectorStoreFiles)
    .where(and(isOfFolder(folder), inArray(sourcePath, paths)))
    .orderBy(sourcePath, desc(createdAt));
  return new Map(rows.map((row) => [row.sourcePath, row]));
}

function isChanged({ size, modifiedMs }: SeenFile, row: StoreFileRow | undefined): boolean {
  return row?.sourceSize !== size || row.sourceModifiedMs !== modifiedMs;
}

function isUnread(row: StoreFileRow): boolean {
  return row.status === "cancelled" || isBlameless(row);
}

/** The file failed by no fault of its own. */
function isBlameless({ status, errorCode }: StoreFileRow): boolean {
  return status === "failed" && errorCode === "server_error";
}
