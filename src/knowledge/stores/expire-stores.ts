import { and, eq, exists, lte, type SQL } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { removeFilesFromStore } from "../ingest/chunks/remove-chunks.ts";
import { deleteCopies } from "../ingest/folder-copies.ts";

/** Files that one transaction takes out of a store. */
const FILES_A_PORTION = 1_000;
/** What is left waits for the next run. */
const MAX_PORTIONS = 100;

/**
 * Takes the files out of stores that have expired; the stores themselves stay, and say so. Uploaded files stay too; copies
 * of a folder's files, which nobody has uploaded, are deleted.
 * @param now Unix milliseconds.
 */
export async function expireStores(db: Db, now: number): Promise<void> {
  for (let portion = 0; portion < MAX_PORTIONS; portion += 1) {
    const [store] = await db
      .select({ id: vectorStores.id })
      .from(vectorStores)
      .where(and(hasExpired(now), hasFiles(db)))
      .limit(1);
    if (store === undefined) return;
    await withTransaction(db, (transaction) => emptyStore(transaction, store.id, now));
  }
}

async function emptyStore(transaction: Db, id: string, now: number): Promise<void> {
  // It may have been extended meanwhile.
  const [store] = await transaction
    .select({ id: vectorStores.id })
    .from(vectorStores)
    .where(and(eq(vectorStores.id, id), hasExpired(now)))
    .for("no key update");
  if (store === undefined) return;
  const files = await transaction
    .select({ fileId: vectorStoreFiles.fileId, sourcePath: vectorStoreFiles.sourcePath })
    .from(vectorStoreFiles)
    .where(eq(vectorStoreFiles.vectorStoreId, id))
    // As copies are locked.
    .orderBy(vectorStoreFiles.fileId)
    .limit(FILES_A_PORTION);
  const fileIds = files.map(({ fileId }) => fileId);
  await removeFilesFromStore(transaction, { vectorStoreId: id, fileIds }, now);
  const copies = files.filter(({ sourcePath }) => sourcePath !== null);
  await deleteCopies(
    transaction,
    copies.map(({ fileId }) => fileId),
  );
}

function hasExpired(now: number): SQL {
  return lte(vectorStores.expiresAt, new Date(now));
}

function hasFiles(db: Db): SQL {
  const { vectorStoreId } = vectorStoreFiles;
  return exists(
    db.select({ vectorStoreId }).from(vectorStoreFiles).where(eq(vectorStoreId, vectorStores.id)),
  );
}
