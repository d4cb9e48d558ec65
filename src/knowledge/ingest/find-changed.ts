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
  if (seen.length === 0) return [];
  const paths = seen.map(({ path }) => path);
  const { sourcePath, createdAt } = vectorStoreFiles;
  const rows = await db
    .selectDistinctOn([sourcePath])
    .from(vectorStoreFiles)
    .where(and(isOfFolder(folder), inArray(sourcePath, paths)))
    .orderBy(sourcePath, desc(createdAt));
  const known = new Map(rows.map((row) => [row.sourcePath, row]));
  return seen.filter(({ path, size, modifiedMs }) => {
    const row = known.get(path);
    // A batch that is resumed has tried its own files.
    const isOfOther = batchId !== null && row?.batchId !== batchId;
    if (row !== undefined && isOfOther && isUnread(row)) return true;
    return row?.sourceSize !== size || row.sourceModifiedMs !== modifiedMs;
  });
}

/** The file was cancelled, or failed by no fault of its own. */
function isUnread({ status, errorCode }: typeof vectorStoreFiles.$inferSelect): boolean {
  return status === "cancelled" || (status === "failed" && errorCode === "server_error");
}
