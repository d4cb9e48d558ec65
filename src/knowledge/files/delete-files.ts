import { eq, inArray, lte } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { DatabaseError } from "../../db/database-error.ts";
import { repeatConflict } from "../../db/repeat-conflict.ts";
import { files, vectorStoreFiles } from "../../db/tables/knowledge.ts";
import { fireEvents } from "../../queue/internal-events.ts";
import { removeFilesFromAllStores } from "../ingest/chunks/remove-chunks.ts";
import { mayChange, mayUse } from "../rights.ts";
import { removeUnreferenced } from "./contents.ts";
import { type FileStore, factsOf, noSuchFile, type StoredFile } from "./files.ts";

/** Expired files are deleted in transactions of this many. */
const BATCH = 100;

/**
 * Deletes a file from everywhere. It is audited when the file is somebody else's. Rejects with `not_found`, and with
 * `insufficient_permission` for a file that the caller may only read.
 */
export async function deleteFile(store: FileStore, actor: Actor, id: string): Promise<void> {
  const { caller } = actor;
  const now = store.clock.now();
  const frame = { action: "file.delete", targetKind: "file", targetId: id } as const;
  const file = await change(store, actor, frame, async (transaction) => {
    const [found] = await transaction.select().from(files).where(eq(files.id, id));
    if (found === undefined || !mayUse(found, caller)) throw noSuchFile();
    if (!mayChange(found, caller)) throw notOwned();
    const [deleted] = await deleteRows(transaction, [found], now);
    // Another call was faster.
    if (deleted === undefined) throw noSuchFile();
    const { ownerId, filename, bytes } = deleted;
    const isOwn = ownerId === caller.ownerId;
    return { result: deleted, details: isOwn ? null : { filename, bytes } };
  });
  store.onFired();
  await removeUnreferenced(store, file.sha256);
}

/** Deletes the files whose time is over. */
export async function deleteExpiredFiles(store: FileStore): Promise<void> {
  const now = store.clock.now();
  for (;;) {
    const expired = await repeatConflict(() =>
      withTransaction(store.database.db, async (transaction) => {
        const found = await transaction
          .select()
          .from(files)
          .where(lte(files.expiresAt, new Date(now)))
          .orderBy(files.id)
          .limit(BATCH);
        await deleteRows(transaction, found, now);
        return found;
      }),
    );
    if (expired.length > 0) store.onFired();
    for (const sha256 of new Set(expired.map((file) => file.sha256))) {
      await removeUnreferenced(store, sha256);
    }
    if (expired.length < BATCH) return;
  }
}

/**
 * Deletes files with their places in stores, and fires `file.deleted`. The files are locked after their stores, as
 * everywhere, so the caller holds no lock on them. Files that a folder job took fire nothing: their folder has its own
 * events.
 *
 * @returns those that were still there.
 */
async function deleteRows(
  transaction: Db,
  found: readonly StoredFile[],
  now: number,
): Promise<readonly StoredFile[]> {
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return [];
  const places = await transaction
    .select({
      fileId: vectorStoreFiles.fileId,
      sourcePath: vectorStoreFiles.sourcePath,
    })
    .from(vectorStoreFiles)
    .where(inArray(vectorStoreFiles.fileId, ids));
  await removeFilesFromAllStores(transaction, ids, now);
  await refuseAdded(transaction, ids);
  const deleted = await transaction.delete(files).where(inArray(files.id, ids)).returning();
  const taken = new Set(
    places.filter(({ sourcePath }) => sourcePath !== null).map(({ fileId }) => fileId),
  );
  const events = deleted
    .filter(({ id }) => !taken.has(id))
    .map((file) => ({ kind: "file.deleted" as const, body: factsOf(file) }));
  await fireEvents(transaction, events, now);
  return deleted;
}

/**
 * Locks the files, so that no store takes them any more. Throws a conflict when one did after the stores were locked:
 * the transaction begins again, because it must not lock a store after a file.
 */
async function refuseAdded(transaction: Db, ids: readonly string[]): Promise<void> {
  const { id } = files;
  await transaction
    .select({ id })
    .from(files)
    .where(inArray(id, [...ids]))
    .orderBy(id)
    .for("update");
  const [added] = await transaction
    .select({ fileId: vectorStoreFiles.fileId })
    .from(vectorStoreFiles)
    .where(inArray(vectorStoreFiles.fileId, [...ids]))
    .limit(1);
  if (added === undefined) return;
  throw new DatabaseError("40001", "A file was added to a vector store while it was deleted.");
}

function notOwned(): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    "Only the file's owner and administrators may delete it.",
  );
}
