import { and, eq, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { isExpired, type StoreRow } from "./stores.ts";

/** The number of files by status. */
export interface FileCounts {
  readonly inProgress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly total: number;
}

/** A vector store with what its files sum up to. */
export interface VectorStore extends StoreRow {
  readonly status: "in_progress" | "completed" | "expired";
  readonly fileCounts: FileCounts;
  readonly usageBytes: number;
  /** Of the files that are completed. */
  readonly chunks: number;
  /** Set while the next generation is being built, and after that has failed. */
  readonly reindex: Reindex | null;
}

interface Reindex {
  readonly status: "in_progress" | "failed";
  /** Why it failed, for people. */
  readonly error: string | null;
  /** The model of the next generation; null once it has failed. */
  readonly embeddingModel: string | null;
  /** Of the files that are whole in the next generation, as the searched one counts them. */
  readonly chunksDone: number;
  /** The chunks of the searched generation. */
  readonly chunksTotal: number;
}

export const NO_FILES: FileCounts = {
  inProgress: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  total: 0,
};

const NOTHING = { counts: NO_FILES, usageBytes: 0, chunksDone: 0, chunksTotal: 0 };

/**
 * Adds to stores what their files sum up to.
 * @param now Unix milliseconds.
 */
export async function withFigures(
  db: Db,
  rows: readonly StoreRow[],
  now: number,
): Promise<readonly VectorStore[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const sums = await sumFiles(db, ids);
  const listing = await findListing(db, ids);
  return rows.map((row) => {
    const { counts, usageBytes, ...progress } = sums.get(row.id) ?? NOTHING;
    const isActive = counts.inProgress > 0 || listing.has(row.id);
    return {
      ...row,
      status: isExpired(row, now) ? "expired" : progressOf(isActive),
      fileCounts: counts,
      usageBytes,
      chunks: progress.chunksTotal,
      reindex: reindexOf(row, progress),
    };
  });
}

function progressOf(isActive: boolean): "in_progress" | "completed" {
  return isActive ? "in_progress" : "completed";
}

function reindexOf(
  { nextGeneration, nextEmbeddingModel, reindexError }: StoreRow,
  progress: Pick<Reindex, "chunksDone" | "chunksTotal">,
): Reindex | null {
  if (nextGeneration !== null) {
    return {
      status: "in_progress",
      error: null,
      embeddingModel: nextEmbeddingModel,
      ...progress,
    };
  }
  if (reindexError === null) return null;
  return { status: "failed", error: reindexError, embeddingModel: null, ...progress };
}

const COUNTS = {
  inProgress: countOf("in_progress"),
  completed: countOf("completed"),
  failed: countOf("failed"),
  cancelled: countOf("cancelled"),
  total: sql<number>`count(*)::int`,
};

/** Counts the files of batches by status; a batch without files is left out. */
export async function countByBatch(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, FileCounts>> {
  const { batchId } = vectorStoreFiles;
  const rows = await db
    .select({ id: batchId, ...COUNTS })
    .from(vectorStoreFiles)
    .where(inArray(batchId, [...ids]))
    .groupBy(batchId);
  return new Map(rows.map(({ id, ...counts }) => [id ?? "", counts]));
}

async function sumFiles(db: Db, ids: readonly string[]) {
  const { vectorStoreId, usageBytes, chunksTotal, status, generation } = vectorStoreFiles;
  const chunksOf = (condition: SQL) =>
    sql`coalesce(sum(${chunksTotal}) filter (where ${condition}), 0)`.mapWith(Number);
  const rows = await db
    .select({
      id: vectorStoreId,
      ...COUNTS,
      usageBytes: sql`coalesce(sum(${usageBytes}), 0)`.mapWith(Number),
      chunksTotal: chunksOf(sql`${status} = 'completed'`),
      chunksDone: chunksOf(
        sql`${status} = 'completed' and ${generation} = ${vectorStores.nextGeneration}`,
      ),
    })
    .from(vectorStoreFiles)
    .innerJoin(vectorStores, eq(vectorStores.id, vectorStoreId))
    .where(inArray(vectorStoreId, [...ids]))
    .groupBy(vectorStoreId);
  return new Map(
    rows.map(({ id, usageBytes, chunksTotal, chunksDone, ...counts }) => [
      id,
      { counts, usageBytes, chunksTotal, chunksDone },
    ]),
  );
}

/** Returns those of the stores whose folder is still being listed: nobody knows yet which files will come. */
async function findListing(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { vectorStoreId, glob, listedAt, cancelledAt } = fileBatches;
  const rows = await db
    .selectDistinct({ id: vectorStoreId })
    .from(fileBatches)
    .where(
      and(inArray(vectorStoreId, [...ids]), isNotNull(glob), isNull(listedAt), isNull(cancelledAt)),
    );
  return new Set(rows.map(({ id }) => id));
}

function countOf(status: string) {
  return sql<number>`(count(*) filter (where ${vectorStoreFiles.status} = ${status}))::int`;
}
