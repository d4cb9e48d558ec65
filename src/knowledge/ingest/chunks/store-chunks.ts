import { and, desc, eq, inArray, isNotNull, lte, ne, sql } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import { type Db, withTransaction } from "../../../db/context.ts";
import { chunks, vectorStoreFiles, vectorStores } from "../../../db/tables/knowledge.ts";
import type { WorkContext } from "../../../queue/topic.ts";
import {
  changeFile,
  deleteChunks,
  type IngestionTarget,
  isOfTarget,
  type LockedStore,
  lockStore,
} from "../ingestion-target.ts";
import { type EmbeddedChunk, insertionOf } from "./insert-chunks.ts";
import type { Chunk } from "./split-chunks.ts";

const BYTES_A_NUMBER = 4;

export interface ChunkStore {
  readonly db: Db;
  readonly target: IngestionTarget;
  readonly checkpoint: WorkContext["checkpoint"];
  readonly confirm: WorkContext["confirm"];
}

/**
 * Begins or resumes the file, and stores how many chunks it has. Chunks that an earlier try has stored are kept if they
 * are the same as those of this try. Resolves with the number of chunks that are stored.
 */
export function beginFile(
  { db, target, confirm }: ChunkStore,
  found: readonly Chunk[],
): Promise<number> {
  return withTransaction(db, async (transaction) => {
    await lockStore(transaction, target, "key share");
    // From here on the file's row is locked: no other worker of the file stores chunks, or deletes them.
    await changeFile(transaction, target, { chunksTotal: found.length }, target.chunksDone);
    // No checkpoint: a try that stores no chunk is no progress.
    await confirm(transaction);
    const stored = await countResumable(transaction, target, found);
    if (stored === 0) await deleteChunks(transaction, target);
    if (stored !== target.chunksDone) {
      await changeFile(transaction, target, { chunksDone: stored });
    }
    return stored;
  });
}

/** 0 when the settings of splitting or the reader have changed since, or the file's row is new. */
async function countResumable(
  db: Db,
  target: IngestionTarget,
  found: readonly Chunk[],
): Promise<number> {
  if (target.chunksTotal === null) return 0;
  const [last] = await db
    .select({ position: chunks.position, text: chunks.text })
    .from(chunks)
    .where(isOfTarget(target))
    .orderBy(desc(chunks.position))
    .limit(1);
  return last !== undefined && found[last.position]?.text === last.text ? last.position + 1 : 0;
}

/** Stores the next chunks with their vectors, in one transaction with the progress. `first` is the place of the first. */
export async function storeBatch(
  { db, target, checkpoint }: ChunkStore,
  batch: readonly EmbeddedChunk[],
  { vectors, first }: { readonly vectors: readonly Float32Array[]; readonly first: number },
): Promise<void> {
  const insertion = await insertionOf(target, { batch, vectors, first });
  await withTransaction(db, async (transaction) => {
    const store = await lockStore(transaction, target, "key share");
    await keepDimensions(transaction, target, { store, vectors });
    await transaction.execute(insertion);
    await changeFile(transaction, target, { chunksDone: first + batch.length }, first);
    await checkpoint(transaction);
  });
}

/** The first vector decides the length of all vectors of the generation. Rejects with a `ServiceError` for another one. */
async function keepDimensions(
  transaction: Db,
  { isRebuild, model, vectorStoreId }: IngestionTarget,
  { store, vectors }: { readonly store: LockedStore; readonly vectors: readonly Float32Array[] },
): Promise<void> {
  const column = isRebuild ? vectorStores.nextDimensions : vectorStores.dimensions;
  let expected = isRebuild ? store.nextDimensions : store.dimensions;
  const length = vectors[0]?.length ?? 0;
  if (expected === null) {
    const kept = sql<number>`coalesce(${column}, ${length}::int)`;
    const [row] = await transaction
      .update(vectorStores)
      .set(isRebuild ? { nextDimensions: kept } : { dimensions: kept })
      .where(eq(vectorStores.id, vectorStoreId))
      .returning({ dimensions: column });
    expected = row?.dimensions ?? length;
  }
  const other = vectors.find((vector) => vector.length !== expected);
  if (other === undefined) return;
  throw new OtherDimensions(model, { expected, actual: other.length });
}

/** No further try helps. */
export class OtherDimensions extends ServiceError {
  constructor(
    model: string,
    { expected, actual }: { readonly expected: number; readonly actual: number },
  ) {
    super(
      "upstream_error",
      `The embedding model '${model}' returned vectors of length ${actual}, but the vector store has vectors of length ${expected}. Reindex the vector store.`,
    );
  }
}

/** What the stored chunks of a target amount to. */
export interface StoredChunks {
  readonly count: number;
  /** Of texts and vectors. */
  readonly bytes: number;
}

export async function measureChunks(
  db: Db,
  target: IngestionTarget,
  dimensions: number | null,
): Promise<StoredChunks> {
  const [stored] = await db
    .select({
      count: sql<number>`count(*)::int`,
      bytes: sql<number>`coalesce(sum(octet_length(${chunks.text})), 0)::float8`,
    })
    .from(chunks)
    .where(isOfTarget(target));
  const { count, bytes } = stored ?? { count: 0, bytes: 0 };
  return { count, bytes: bytes + count * (dimensions ?? 0) * BYTES_A_NUMBER };
}

/** Versions that are not found, and will not be. */
export const UNREAD = ["failed", "cancelled"] as const;

/**
 * Takes the earlier versions of a file of a folder out of the store, in the transaction that ends the new one: all of
 * them, or those in the given states. Resolves with the ids of their files.
 */
export async function removeEarlierVersions(
  transaction: Db,
  { vectorStoreId, fileId, createdAt }: IngestionTarget,
  statuses?: typeof UNREAD,
): Promise<readonly string[]> {
  const entry = vectorStoreFiles;
  const [{ connection, path } = { connection: null, path: null }] = await transaction
    .select({ connection: entry.sourceConnection, path: entry.sourcePath })
    .from(entry)
    .where(and(eq(entry.vectorStoreId, vectorStoreId), eq(entry.fileId, fileId)));
  if (connection === null || path === null) return [];
  const removed = await transaction
    .delete(entry)
    .where(
      and(
        eq(entry.vectorStoreId, vectorStoreId),
        eq(entry.sourceConnection, connection),
        eq(entry.sourcePath, path),
        isNotNull(entry.sourcePath),
        ne(entry.fileId, fileId),
        lte(entry.createdAt, createdAt),
        statuses === undefined ? undefined : inArray(entry.status, [...statuses]),
      ),
    )
    .returning({ fileId: entry.fileId });
  return removed.map((row) => row.fileId);
}
