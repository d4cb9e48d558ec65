import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { chunks, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import type { WorkContext } from "../../queue/topic.ts";
import { enqueueIngestion, type IngestionJobs } from "./ingestion-jobs.ts";

/** Files for which one transaction stores the jobs. */
const FILES_A_TRANSACTION = 500;
/** Chunks that one statement sums, about: a store has up to a million, and a statement has half a minute. */
const CHUNKS_A_SUM = 20_000;

/** A generation that is built beside the searched one. */
export type NextGeneration = IngestionJobs["reindex"];

/** Completed files that are not whole in the next generation yet. */
function isMissing({ vectorStoreId, generation }: NextGeneration) {
  return and(
    eq(vectorStoreFiles.vectorStoreId, vectorStoreId),
    eq(vectorStoreFiles.status, "completed"),
    sql`${vectorStoreFiles.generation} is distinct from ${generation}`,
  );
}

/** Locks the store while it builds this generation. Resolves with false when it does not. */
async function lockBuilding(transaction: Db, next: NextGeneration): Promise<boolean> {
  const [store] = await transaction
    .select({ id: vectorStores.id })
    .from(vectorStores)
    .where(
      and(
        eq(vectorStores.id, next.vectorStoreId),
        eq(vectorStores.nextGeneration, next.generation),
      ),
    )
    .for("update");
  return store !== undefined;
}

/**
 * Stores the jobs that ingest every completed file for the next generation. Files that complete from now on get theirs
 * with their completion. A repeated job finds nothing to do.
 */
export async function beginReindex(
  db: Db,
  next: NextGeneration,
  { checkpoint, now }: Pick<WorkContext, "checkpoint"> & { readonly now: number },
): Promise<void> {
  let after: string | undefined = "";
  while (after !== undefined) {
    const from: string = after;
    after = await withTransaction(db, async (transaction) => {
      if (!(await lockBuilding(transaction, next))) return undefined;
      const page = await transaction
        .select({ fileId: vectorStoreFiles.fileId })
        .from(vectorStoreFiles)
        .where(and(isMissing(next), gt(vectorStoreFiles.fileId, from)))
        .orderBy(asc(vectorStoreFiles.fileId))
        .limit(FILES_A_TRANSACTION);
      await enqueueIngestion(
        transaction,
        page.map(({ fileId }) => ({ ...next, fileId })),
        now,
      );
      // The store may have no files, or its last missing one was removed.
      if (page.length === 0) await swapIfWhole(transaction, next);
      await checkpoint(transaction);
      return page.at(-1)?.fileId;
    });
  }
}

/**
 * Makes the next generation the searched one when every completed file is whole in it. The transaction has locked the
 * store for update, so that no file completes and no chunk is stored beside it. The chunks that are left behind are
 * deleted in the background.
 */
export async function swapIfWhole(transaction: Db, next: NextGeneration): Promise<void> {
  const [missing] = await transaction
    .select({ fileId: vectorStoreFiles.fileId })
    .from(vectorStoreFiles)
    .where(isMissing(next))
    .limit(1);
  if (missing !== undefined) return;
  const { vectorStoreId, generation } = next;
  await transaction
    .update(vectorStores)
    .set({
      generation,
      embeddingModel: sql`${vectorStores.nextEmbeddingModel}`,
      dimensions: sql`${vectorStores.nextDimensions}`,
      version: sql`${vectorStores.version} + 1`,
      ...NO_REINDEX,
      reindexError: null,
    })
    .where(eq(vectorStores.id, vectorStoreId));
  await storeSums(transaction, next);
}

interface SummedFile {
  readonly fileId: string;
  /** Of the generation before: about as many as in this one. */
  readonly chunks: number | null;
}

/** Counts the chunks of the store's files, and their bytes, a few files at a time: all of them may take minutes. */
async function storeSums(transaction: Db, next: NextGeneration): Promise<void> {
  const { vectorStoreId, fileId, status, chunksTotal } = vectorStoreFiles;
  const isOfStore = and(eq(vectorStoreId, next.vectorStoreId), eq(status, "completed"));
  for (let after = ""; ; ) {
    const page = await transaction
      .select({ fileId, chunks: chunksTotal })
      .from(vectorStoreFiles)
      .where(and(isOfStore, gt(fileId, after)))
      .orderBy(asc(fileId))
      .limit(FILES_A_TRANSACTION);
    for (const ids of portionsOf(page)) await storePortion(transaction, next, ids);
    if (page.length < FILES_A_TRANSACTION) return;
    after = page.at(-1)?.fileId ?? "";
  }
}

/** Yields the ids of files that have not too many chunks together. */
function* portionsOf(page: readonly SummedFile[]): Generator<readonly string[], void> {
  let ids: string[] = [];
  let sum = 0;
  for (const { fileId, chunks: count } of page) {
    ids.push(fileId);
    sum += count ?? 0;
    if (sum < CHUNKS_A_SUM) continue;
    yield ids;
    ids = [];
    sum = 0;
  }
  if (ids.length > 0) yield ids;
}

async function storePortion(
  transaction: Db,
  { vectorStoreId, generation }: NextGeneration,
  fileIds: readonly string[],
): Promise<void> {
  const isOfPortion = and(
    eq(chunks.vectorStoreId, vectorStoreId),
    eq(chunks.generation, generation),
    inArray(chunks.fileId, [...fileIds]),
  );
  await transaction.execute(sql`
    update ${vectorStoreFiles} as file
    set usage_bytes = stored.bytes, chunks_done = stored.count, chunks_total = stored.count
    from (
      select ${chunks.fileId} as file_id, count(*)::int as count,
        sum(octet_length(${chunks.text}) + 4 * coalesce(${vectorStores.dimensions}, 0)) as bytes
      from ${chunks} join ${vectorStores} on ${vectorStores.id} = ${chunks.vectorStoreId}
      where ${isOfPortion}
      group by ${chunks.fileId}
    ) as stored
    where file.vector_store_id = ${vectorStoreId} and file.file_id = stored.file_id
      and file.status = 'completed'`);
}

/** Gives the next generation up: the store keeps the one that is searched. The transaction has locked the store. */
export async function failReindex(
  transaction: Db,
  { vectorStoreId, generation }: NextGeneration,
  reason: string,
): Promise<void> {
  await transaction
    .update(vectorStores)
    .set({ ...NO_REINDEX, reindexError: reason })
    .where(and(eq(vectorStores.id, vectorStoreId), eq(vectorStores.nextGeneration, generation)));
}

const NO_REINDEX = { nextGeneration: null, nextEmbeddingModel: null, nextDimensions: null };
