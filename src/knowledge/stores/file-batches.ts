import { and, eq } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { fileBatches } from "../../db/tables/knowledge.ts";
import { cancelIngestion, createFolderBatch, type Folder } from "../ingest/ingestion-jobs.ts";
import { addFiles, type NewStoreFile } from "./add-files.ts";
import { changeStore, readStore, refuseExpired, type Stores } from "./stores.ts";
import { touchStores } from "./touch-stores.ts";
import { countByBatch, type FileCounts, NO_FILES } from "./vector-store.ts";

/** Files that were added together, and how far they are. */
export interface FileBatch {
  readonly id: string;
  readonly vectorStoreId: string;
  readonly createdAt: Date;
  /** `failed`: none of its files could be ingested. */
  readonly status: "in_progress" | "completed" | "cancelled" | "failed";
  readonly fileCounts: FileCounts;
  /** Null unless it takes its files from a folder. */
  readonly folder: Folder | null;
  /** Files of the folder that were left for a further batch; 0 while it is being listed. */
  readonly remaining: number;
}

/** The ids of a store, and of a file or batch in it. */
export interface InStore {
  readonly storeId: string;
  readonly id: string;
}

interface NewBatch {
  readonly storeId: string;
  /** The files, or the folder that they are taken from. */
  readonly source: readonly NewStoreFile[] | Folder;
}

/**
 * Adds files to a store together. Rejects with `not_found` for a store or file that the actor may not use, and with
 * `insufficient_permission`.
 */
export function createFileBatch(
  stores: Stores,
  actor: Actor,
  { storeId, source }: NewBatch,
): Promise<FileBatch> {
  const { caller } = actor;
  const details = "glob" in source ? { folder: { ...source } } : { files: source.length };
  return changeStore(
    stores,
    actor,
    { id: storeId, verb: "add_files", details },
    async (transaction, store) => {
      const now = stores.clock.now();
      refuseExpired(store, now);
      if ("glob" in source) {
        refuseFolder(stores, caller, source, "ext");
        const folder = { ...source, vectorStoreId: storeId };
        const id = await createFolderBatch(transaction, folder, now);
        await touchStores(transaction, [storeId], now);
        return readBatch(transaction, { storeId, id });
      }
      const added = { store, files: source, caller, inBatch: true };
      const id = await addFiles(transaction, added, now);
      return readBatch(transaction, { storeId, id: id ?? "" });
    },
  );
}

/** Rejects with `not_found`. */
export function findFileBatch(
  { database }: Stores,
  caller: Caller,
  place: InStore,
): Promise<FileBatch> {
  return database.ask(async (db) => {
    await readStore(db, place.storeId, caller);
    return readBatch(db, place);
  });
}

/** Cancels what is in progress of a batch. A batch that has ended stays as it is. */
export function cancelFileBatch(stores: Stores, actor: Actor, place: InStore): Promise<FileBatch> {
  const { storeId, id } = place;
  const details = { batch_id: id };
  return changeStore(
    stores,
    actor,
    { id: storeId, verb: "change_file", details },
    async (transaction) => {
      const batch = await readBatch(transaction, place);
      if (batch.status !== "in_progress") return batch;
      const now = stores.clock.now();
      // Everywhere the files of a batch are locked before it.
      await cancelIngestion(transaction, { vectorStoreId: storeId, batchId: id }, now);
      await transaction
        .update(fileBatches)
        .set({ cancelledAt: new Date(now) })
        .where(eq(fileBatches.id, id));
      return readBatch(transaction, place);
    },
  );
}

/** Rejects with `not_found`. */
export async function readBatch(db: Db, { storeId, id }: InStore): Promise<FileBatch> {
  const [row] = await db
    .select()
    .from(fileBatches)
    .where(and(eq(fileBatches.id, id), eq(fileBatches.vectorStoreId, storeId)));
  if (row === undefined) {
    throw new ServiceError("not_found", "There is no file batch of this id in the vector store.");
  }
  const fileCounts = (await countByBatch(db, [id])).get(id) ?? NO_FILES;
  const { vectorStoreId, createdAt, fileConnection, glob, listedAt, cancelledAt } = row;
  const folder = fileConnection === null || glob === null ? null : { fileConnection, glob };
  const status = statusOf(row, fileCounts);
  // While files are added, the column counts those that this batch may still take.
  const remaining = listedAt === null && cancelledAt === null ? 0 : row.remaining;
  return { id, vectorStoreId, createdAt, status, fileCounts, folder, remaining };
}

/** Throws `insufficient_permission` unless an administrator names a folder, and `invalid_value` for one that there is not. */
export function refuseFolder(
  { fileConnections }: Stores,
  caller: Caller,
  { fileConnection }: Folder,
  param: "ext" | "ext.folder",
): void {
  if (caller.role !== "admin") {
    throw new ServiceError(
      "insufficient_permission",
      "Only an administrator may add the files of a folder.",
      { param },
    );
  }
  const named = { param: `${param}.file_connection` };
  const found = fileConnections().find(({ name }) => name === fileConnection);
  if (found === undefined) {
    throw new ServiceError(
      "invalid_value",
      "There is no file connection of this name. There is `workspace` for WORKSPACE_DIR, and one for each folder of WATCH_DIRS, named by the last part of its path.",
      named,
    );
  }
  if (param === "ext" || found.isWatched) return;
  throw new ServiceError(
    "invalid_value",
    "A vector store follows only a folder of WATCH_DIRS. Add this folder there, or add its files once with POST /v1/vector_stores/{id}/file_batches.",
    named,
  );
}

function statusOf(
  { cancelledAt, reportedAt, glob }: typeof fileBatches.$inferSelect,
  { inProgress, failed, total }: FileCounts,
): FileBatch["status"] {
  if (cancelledAt !== null) return "cancelled";
  // The files of a folder are not all known before the batch is reported.
  if (inProgress > 0 || (glob !== null && reportedAt === null)) return "in_progress";
  return total > 0 && failed === total ? "failed" : "completed";
}
