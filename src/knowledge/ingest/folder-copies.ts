import { and, eq, inArray, isNotNull, notExists, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { files, vectorStoreFiles } from "../../db/tables/knowledge.ts";
import { inGroups } from "../../lib/in-groups.ts";

/** Files that one statement deletes. */
const FILES_A_STATEMENT = 1_000;

/**
 * Finds the files of a store, or the one with this id, that were copied from a folder. Nobody has uploaded them, so they
 * are deleted with their place in the store.
 */
export async function findCopies(
  db: Db,
  { vectorStoreId, fileId }: { readonly vectorStoreId: string; readonly fileId?: string },
): Promise<readonly string[]> {
  const entry = vectorStoreFiles;
  const rows = await db
    .select({ fileId: entry.fileId })
    .from(entry)
    .where(
      and(
        eq(entry.vectorStoreId, vectorStoreId),
        fileId === undefined ? undefined : eq(entry.fileId, fileId),
        isNotNull(entry.sourcePath),
      ),
    )
    // As they are locked.
    .orderBy(entry.fileId);
  return rows.map((row) => row.fileId);
}

/** As `deleteCopies`, in a transaction of its own. */
export async function forgetFiles(db: Db, fileIds: readonly string[]): Promise<void> {
  if (fileIds.length === 0) return;
  await withTransaction(db, (transaction) => deleteCopies(transaction, fileIds));
}

/**
 * Deletes files that were copied from a folder, unless a store has them. The transaction has locked the stores that it
 * changes. Their contents are removed in the background.
 */
export async function deleteCopies(transaction: Db, fileIds: readonly string[]): Promise<void> {
  for (const group of inGroups(fileIds, FILES_A_STATEMENT)) {
    const isMeant = inArray(files.id, [...group]);
    // A store that is just taking one of them has its row locked. Only the next statement sees that it has.
    await transaction
      .select({ id: files.id })
      .from(files)
      .where(isMeant)
      .orderBy(files.id)
      .for("update");
    const inStore = transaction
      .select({ one: sql`1` })
      .from(vectorStoreFiles)
      .where(eq(vectorStoreFiles.fileId, files.id));
    await transaction.delete(files).where(and(isMeant, notExists(inStore)));
  }
}
