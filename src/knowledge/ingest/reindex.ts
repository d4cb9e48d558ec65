import { and, asc, eq, gt, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { chunks, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import type { WorkContext } from "../../queue/topic.ts";
import { enqueueIngestion, type IngestionJobs } from "./ingestion-jobs.ts";

/** Files for which one transaction stores the jobs. */
const FILES_A_TRANSACTION = 500;

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
  await transaction.execute(sql`
    update ${vectorStoreFiles} as file
    set usage_bytes = stored.bytes, chunks_done = stored.count, chunks_total = stored.count
    from (
      select chunk.file_id, count(*)::int as count,
        sum(octet_length(chunk.text) + 4 * coalesce(store.dimensions, 0)) as bytes
      from ${chunks} as chunk join ${vectorStores} as store on store.id = chunk.vector_store_id
      where chunk.vector_store_id = ${vectorStoreId} and chunk.generation = ${generation}
      group by chunk.file_id
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
