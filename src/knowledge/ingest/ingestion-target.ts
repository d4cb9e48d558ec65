import { and, eq, inArray, ne, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import {
  type ChunkingStrategy,
  chunks,
  files,
  vectorStoreFiles,
  vectorStores,
} from "../../db/tables/knowledge.ts";
import type { IngestedFile } from "./ingestion-jobs.ts";

/** What one job has to store: the chunks of a file in one generation of a store. */
export interface IngestionTarget extends IngestedFile {
  /** False while the file is in progress; true when a reindex stores a completed file once more. */
  readonly isRebuild: boolean;
  /** With the ids it names the row: the same file may be removed and added once more in the meantime. */
  readonly createdAt: Date;
  /** A later batch may take the file over while it is read. */
  readonly batchId: string | null;
  readonly filename: string;
  readonly sha256: string;
  /** Of the original. */
  readonly bytes: number;
  readonly chunking: ChunkingStrategy | null;
  /** Of an earlier try; null in the first one. */
  readonly chunksTotal: number | null;
  readonly chunksDone: number;
  /** The embedding model of the generation. */
  readonly model: string;
}

/** The file, its store or its generation is no longer to be filled: it was removed, cancelled or replaced. */
export class TargetGone extends Error {
  override readonly name = "TargetGone";
}

/**
 * Finds what is to be done for a job. A file in progress is always ingested for the generation that is searched now,
 * which a reindex may have exchanged since the job was stored. Resolves with undefined when nothing is left to do.
 */
export async function readTarget(
  db: Db,
  { vectorStoreId, fileId, generation }: IngestedFile,
): Promise<IngestionTarget | undefined> {
  const [row] = await db
    .select({ store: vectorStores, entry: vectorStoreFiles, file: files })
    .from(vectorStoreFiles)
    .innerJoin(vectorStores, eq(vectorStores.id, vectorStoreFiles.vectorStoreId))
    .innerJoin(files, eq(files.id, vectorStoreFiles.fileId))
    .where(
      and(eq(vectorStoreFiles.vectorStoreId, vectorStoreId), eq(vectorStoreFiles.fileId, fileId)),
    );
  if (row === undefined) return undefined;
  const { store, entry, file } = row;
  const { createdAt, batchId, chunking, chunksTotal, chunksDone } = entry;
  const { filename, sha256, bytes } = file;
  const ids = { vectorStoreId, fileId, createdAt, batchId };
  const facts = { ...ids, filename, sha256, bytes, chunking, chunksTotal, chunksDone };
  if (entry.status === "in_progress") {
    const model = store.embeddingModel;
    return { ...facts, generation: store.generation, isRebuild: false, model };
  }
  const isMeant = entry.status === "completed" && generation === store.nextGeneration;
  const model = store.nextEmbeddingModel;
  if (!isMeant || entry.generation === generation || model === null) return undefined;
  return { ...facts, generation, isRebuild: true, model };
}

/** Counts the chunks that the store's other files have, or will have when they are ingested. */
export async function countOtherChunks(
  db: Db,
  { vectorStoreId, fileId }: IngestionTarget,
): Promise<number> {
  const entry = vectorStoreFiles;
  const [row] = await db
    .select({ count: sql`coalesce(sum(${entry.chunksTotal}), 0)`.mapWith(Number) })
    .from(entry)
    .where(
      and(
        eq(entry.vectorStoreId, vectorStoreId),
        ne(entry.fileId, fileId),
        inArray(entry.status, ["in_progress", "completed"]),
      ),
    );
  return row?.count ?? 0;
}

/** How strongly a transaction holds the store: against its deletion or exchange, or against every other change. */
export type StoreLock = "key share" | "no key update" | "update";

export type LockedStore = typeof vectorStores.$inferSelect;

/**
 * Locks the store, if the generation is still wanted. Every transaction locks the store before its files, and those
 * before their batch, so that none deadlocks. Rejects with TargetGone.
 */
export async function lockStore(
  transaction: Db,
  { vectorStoreId, generation, isRebuild }: IngestionTarget,
  strength: StoreLock,
): Promise<LockedStore> {
  const wanted = isRebuild ? vectorStores.nextGeneration : vectorStores.generation;
  const [store] = await transaction
    .select()
    .from(vectorStores)
    .where(and(eq(vectorStores.id, vectorStoreId), eq(wanted, generation)))
    .for(strength);
  if (store === undefined) throw new TargetGone("The generation is not wanted any more.");
  return store;
}

type FileChange = Partial<typeof vectorStoreFiles.$inferInsert>;

/**
 * Changes the file's row, if its ingestion is still wanted; a rebuild only locks it, because the row shows the generation
 * that is searched. Resolves with the batch that waits for the file now. Rejects with TargetGone.
 *
 * @param done the chunks that the row must have: a file that failed or was cancelled may have been added once more, and
 * have another worker. Undefined: any.
 */
export async function changeFile(
  transaction: Db,
  { vectorStoreId, fileId, createdAt, isRebuild }: IngestionTarget,
  change: FileChange,
  done?: number,
): Promise<Pick<IngestionTarget, "batchId">> {
  const [changed] = await transaction
    .update(vectorStoreFiles)
    .set(isRebuild ? { status: "completed" } : change)
    .where(
      and(
        eq(vectorStoreFiles.vectorStoreId, vectorStoreId),
        eq(vectorStoreFiles.fileId, fileId),
        eq(vectorStoreFiles.createdAt, createdAt),
        eq(vectorStoreFiles.status, isRebuild ? "completed" : "in_progress"),
        isRebuild || done === undefined ? undefined : eq(vectorStoreFiles.chunksDone, done),
      ),
    )
    .returning({ batchId: vectorStoreFiles.batchId });
  if (changed === undefined) throw new TargetGone("The file is not in progress any more.");
  return changed;
}

/** The condition for the chunks of the target. */
export function isOfTarget({ vectorStoreId, generation, fileId }: IngestedFile) {
  return and(
    eq(chunks.vectorStoreId, vectorStoreId),
    eq(chunks.generation, generation),
    eq(chunks.fileId, fileId),
  );
}

const CHUNKS_A_STATEMENT = 1_000;

/** Deletes all chunks of the target, in statements of bounded size. */
export async function deleteChunks(db: Db, target: IngestedFile): Promise<void> {
  let deleted: number;
  do {
    const rows = await db.execute(sql`
      with portion as materialized (
        select id from ${chunks} where ${isOfTarget(target)} limit ${CHUNKS_A_STATEMENT}
      )
      delete from ${chunks} as chunk using portion where chunk.id = portion.id
      returning chunk.id`);
    deleted = rows.length;
  } while (deleted === CHUNKS_A_STATEMENT);
}
