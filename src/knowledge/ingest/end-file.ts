import { eq, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { storableText } from "../../lib/text/storable-text.ts";
import {
  type ChunkStore,
  measureChunks,
  removeEarlierVersions,
  UNREAD,
} from "./chunks/store-chunks.ts";
import { enqueueIngestion } from "./ingestion-jobs.ts";
import { changeFile, deleteChunks, type IngestionTarget, lockStore } from "./ingestion-target.ts";
import { failReindex, swapIfWhole } from "./reindex.ts";
import { reportEnd } from "./report-ingested.ts";

export type FileErrorCode = NonNullable<(typeof vectorStoreFiles.$inferSelect)["errorCode"]>;

/** Why a file cannot be found: OpenAI's code, and a text for people. */
export interface FileFailure {
  readonly code: FileErrorCode;
  readonly message: string;
}

/** Chunks are missing although all of them were stored: their rows were deleted in the meantime. */
class ChunksMissing extends Error {
  override readonly name = "ChunksMissing";
}

/**
 * Completes the file: from the commit on its chunks are found, and those of its earlier versions are not. Resolves with
 * the ids of the files of those versions. Rejects with TargetGone, and with ChunksMissing after deleting the others.
 * @param now Unix milliseconds.
 */
export async function completeFile(
  store: ChunkStore,
  total: number,
  now: number,
): Promise<readonly string[]> {
  const { db, target, checkpoint, confirm } = store;
  const isWhole = await withTransaction(db, async (transaction) => {
    const locked = await lockStore(transaction, target, "update");
    const dimensions = target.isRebuild ? locked.nextDimensions : locked.dimensions;
    const { count, bytes } = await measureChunks(transaction, target, dimensions);
    if (count !== total) {
      await changeFile(transaction, target, { chunksDone: 0 }, total);
      await confirm(transaction);
      await deleteChunks(transaction, target);
      return undefined;
    }
    const replaced = target.isRebuild
      ? await completeRebuild(transaction, target)
      : await completeFirst(transaction, target, { bytes, total, now, locked });
    await checkpoint(transaction);
    return replaced;
  });
  if (isWhole !== undefined) return isWhole;
  throw new ChunksMissing("Some of the file's chunks were deleted while it was ingested.");
}

interface Completion {
  readonly bytes: number;
  readonly total: number;
  readonly now: number;
  readonly locked: typeof vectorStores.$inferSelect;
}

async function completeFirst(
  transaction: Db,
  target: IngestionTarget,
  { bytes, total, now, locked }: Completion,
): Promise<readonly string[]> {
  const { vectorStoreId, fileId, generation } = target;
  const status = "completed";
  const counts = { chunksDone: total, chunksTotal: total, usageBytes: bytes };
  const change = { status, generation, ...counts } as const;
  const { batchId } = await changeFile(transaction, target, change, total);
  const replaced = await removeEarlierVersions(transaction, target);
  await transaction
    .update(vectorStores)
    .set({ version: sql`${vectorStores.version} + 1` })
    .where(eq(vectorStores.id, vectorStoreId));
  if (locked.nextGeneration !== null) {
    const next = { vectorStoreId, fileId, generation: locked.nextGeneration };
    await enqueueIngestion(transaction, [next], now);
  }
  await reportEnd(transaction, { ...target, batchId, status }, now);
  return replaced;
}

async function completeRebuild(
  transaction: Db,
  target: IngestionTarget,
): Promise<readonly string[]> {
  await changeFile(transaction, target, {});
  const { vectorStoreId, fileId, generation } = target;
  await transaction
    .update(vectorStoreFiles)
    .set({ generation })
    .where(
      sql`${vectorStoreFiles.vectorStoreId} = ${vectorStoreId} and ${vectorStoreFiles.fileId} = ${fileId}`,
    );
  await swapIfWhole(transaction, { vectorStoreId, generation });
  return [];
}

/**
 * Ends the file as failed; a reindex of which it was a part fails with it, and what was found stays found. Earlier versions
 * of a folder's file that were not read either go: a file that cannot be read would leave one with each of its changes.
 * Resolves with the ids of their files. Rejects with TargetGone.
 * @param now Unix milliseconds.
 */
export function failFile(
  { db, target, checkpoint }: ChunkStore,
  { code, ...failure }: FileFailure,
  now: number,
): Promise<readonly string[]> {
  // The engine's words may quote anything.
  const message = storableText(failure.message);
  return withTransaction(db, async (transaction) => {
    await lockStore(transaction, target, "update");
    let replaced: readonly string[] = [];
    if (target.isRebuild) {
      await changeFile(transaction, target, {});
      await failReindex(transaction, target, `${target.filename}: ${message}`);
    } else {
      const status = "failed";
      const change = { status, errorCode: code, errorMessage: message } as const;
      const { batchId } = await changeFile(transaction, target, change);
      replaced = await removeEarlierVersions(transaction, target, UNREAD);
      await reportEnd(transaction, { ...target, batchId, status }, now);
    }
    await checkpoint(transaction);
    return replaced;
  });
}
