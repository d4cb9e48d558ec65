import { and, eq, isNotNull, isNull, or, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { fireEvents } from "../../queue/internal-events.ts";

/** How many files have ended, and how. */
export interface EndedFiles {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

const NONE: EndedFiles = { completed: 0, failed: 0, cancelled: 0 };

/** A file that has just ended. */
export interface EndedFile {
  readonly vectorStoreId: string;
  readonly batchId: string | null;
  readonly fileId: string;
  readonly status: keyof EndedFiles;
}

/**
 * Reports the end of a file in the transaction that ends it: the file itself, or its batch if it was the last one.
 * @param now Unix milliseconds.
 */
export async function reportEnd(
  transaction: Db,
  { vectorStoreId, batchId, fileId, status }: EndedFile,
  now: number,
): Promise<void> {
  if (batchId !== null) return reportBatch(transaction, batchId, now);
  return fireIngested(transaction, { vectorStoreId, batchId, fileId, ...NONE, [status]: 1 }, now);
}

/**
 * Reports a batch once, when all its files are known and none of them is in progress. Two transactions that end its
 * last two files take turns here, so that the second one sees both ends.
 * @param now Unix milliseconds.
 */
export async function reportBatch(transaction: Db, batchId: string, now: number): Promise<void> {
  const { id, reportedAt, fileConnection, listedAt } = fileBatches;
  const [batch] = await transaction
    .select()
    .from(fileBatches)
    .where(
      and(eq(id, batchId), isNull(reportedAt), or(isNull(fileConnection), isNotNull(listedAt))),
    )
    .for("update");
  if (batch === undefined) return;
  const counted = await transaction
    .select({ status: vectorStoreFiles.status, count: sql<number>`count(*)::int` })
    .from(vectorStoreFiles)
    .where(eq(vectorStoreFiles.batchId, batchId))
    .groupBy(vectorStoreFiles.status);
  if (counted.some(({ status }) => status === "in_progress")) return;
  const counts = Object.fromEntries(counted.map(({ status, count }) => [status, count]));
  await transaction
    .update(fileBatches)
    .set({ reportedAt: new Date(now) })
    .where(eq(id, batchId));
  const { vectorStoreId } = batch;
  await fireIngested(
    transaction,
    { vectorStoreId, batchId, fileId: null, ...NONE, ...counts },
    now,
  );
}

async function fireIngested(
  transaction: Db,
  report: EndedFiles &
    Pick<EndedFile, "vectorStoreId" | "batchId"> & { readonly fileId: string | null },
  now: number,
): Promise<void> {
  const { vectorStoreId, batchId, fileId, completed, failed, cancelled } = report;
  const [store] = await transaction
    .select({ name: vectorStores.name })
    .from(vectorStores)
    .where(eq(vectorStores.id, vectorStoreId));
  if (store === undefined) return;
  const body = {
    vector_store_id: vectorStoreId,
    vector_store_name: store.name,
    batch_id: batchId,
    file_id: fileId,
    completed,
    failed,
    cancelled,
  };
  await fireEvents(transaction, [{ kind: "knowledge.ingested", body }], now);
}
