import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { outboxEvents } from "../../db/tables/outbox.ts";
import {
  enqueueIngestion,
  enqueueListing,
  enqueueReindex,
  INGEST_STEPS_TOPIC,
  INGEST_TOPIC,
} from "./ingestion-jobs.ts";
import { failReindex } from "./reindex.ts";
import { reportBatch, reportEnd } from "./report-ingested.ts";

/** Rows of each kind that one run repairs. */
const ROWS_A_RUN = 500;
const LOST =
  "The ingestion of this file ended the server or its reader several times. Check the file, then add it again.";

/**
 * Repairs what a job should have ended. A file in progress without a pending job gets a new one, as after a restored
 * backup, or fails, if its job was given up because the worker was lost in each try. The same holds for a reindex, and
 * for the listing of a folder, whose batch ends with the files that it has; the others stay counted as remaining. Batches
 * are reported whose last file was removed.
 * @param now Unix milliseconds.
 */
export async function repairIngestion(db: Db, now: number): Promise<void> {
  await repairFiles(db, now);
  await repairReindexes(db, now);
  await repairListings(db, now);
  await reportIdleBatches(db, now);
}

/** A job of the ingestion that names this store, and this file if one is given. */
function jobOf(
  store: typeof vectorStores.id | typeof vectorStoreFiles.vectorStoreId,
  isFile: boolean,
) {
  const isOfFile = isFile
    ? sql`job.body ->> 'fileId' = ${vectorStoreFiles.fileId} and job.sink = ${INGEST_TOPIC}`
    : sql`job.sink in (${INGEST_TOPIC}, ${INGEST_STEPS_TOPIC})
        and (job.kind = 'reindex' or job.kind = 'file')
        and (job.body ->> 'generation')::int = ${vectorStores.nextGeneration}`;
  return sql`from ${outboxEvents} as job
    where job.body ->> 'vectorStoreId' = ${store} and job.delivered_at is null and ${isOfFile}`;
}

async function repairFiles(db: Db, now: number): Promise<void> {
  const { vectorStoreId, fileId, status, createdAt, batchId } = vectorStoreFiles;
  const jobs = jobOf(vectorStoreId, true);
  const stuck = await db
    .select({
      vectorStoreId,
      fileId,
      batchId,
      generation: vectorStores.generation,
      isDead: sql<boolean>`exists (select 1 ${jobs} and job.dead_at >= ${createdAt})`,
    })
    .from(vectorStoreFiles)
    .innerJoin(vectorStores, eq(vectorStores.id, vectorStoreId))
    .where(
      and(eq(status, "in_progress"), sql`not exists (select 1 ${jobs} and job.dead_at is null)`),
    )
    .limit(ROWS_A_RUN);
  for (const { isDead, ...file } of stuck) {
    await withTransaction(db, async (transaction) => {
      if (!isDead) return enqueueIngestion(transaction, [file], now);
      const ended = await transaction
        .update(vectorStoreFiles)
        .set({ status: "failed", errorCode: "server_error", errorMessage: LOST })
        .where(
          and(
            eq(vectorStoreId, file.vectorStoreId),
            eq(fileId, file.fileId),
            eq(status, "in_progress"),
          ),
        )
        .returning({ fileId });
      if (ended.length > 0) await reportEnd(transaction, { ...file, status: "failed" }, now);
    });
  }
}

async function repairReindexes(db: Db, now: number): Promise<void> {
  const { id, nextGeneration } = vectorStores;
  const jobs = jobOf(id, false);
  const stuck = await db
    .select({
      vectorStoreId: id,
      generation: sql<number>`${nextGeneration}`,
      isDead: sql<boolean>`exists (select 1 ${jobs} and job.dead_at is not null)`,
    })
    .from(vectorStores)
    .where(
      sql`${nextGeneration} is not null and not exists (select 1 ${jobs} and job.dead_at is null)`,
    )
    .limit(ROWS_A_RUN);
  for (const { isDead, ...next } of stuck) {
    await withTransaction(db, (transaction) =>
      isDead ? failReindex(transaction, next, LOST) : enqueueReindex(transaction, next, now),
    );
  }
}

async function repairListings(db: Db, now: number): Promise<void> {
  const { id, vectorStoreId, fileConnection, listedAt } = fileBatches;
  const jobs = sql`from ${outboxEvents} as job
    where job.sink = ${INGEST_STEPS_TOPIC} and job.kind = 'folder' and job.body ->> 'batchId' = ${id}
      and job.delivered_at is null`;
  const stuck = await db
    .select({
      batchId: id,
      vectorStoreId,
      isDead: sql<boolean>`exists (select 1 ${jobs} and job.dead_at is not null)`,
    })
    .from(fileBatches)
    .where(
      and(
        isNotNull(fileConnection),
        isNull(listedAt),
        sql`not exists (select 1 ${jobs} and job.dead_at is null)`,
      ),
    )
    .limit(ROWS_A_RUN);
  for (const { isDead, ...batch } of stuck) {
    await withTransaction(db, async (transaction) => {
      if (!isDead) return enqueueListing(transaction, batch, now);
      await transaction
        .update(fileBatches)
        .set({ listedAt: new Date(now) })
        .where(and(eq(id, batch.batchId), isNull(listedAt)));
      await reportBatch(transaction, batch.batchId, now);
    });
  }
}

async function reportIdleBatches(db: Db, now: number): Promise<void> {
  const inProgress = db
    .select({ one: sql`1` })
    .from(vectorStoreFiles)
    .where(
      and(eq(vectorStoreFiles.batchId, fileBatches.id), eq(vectorStoreFiles.status, "in_progress")),
    );
  const idle = await db
    .select({ id: fileBatches.id })
    .from(fileBatches)
    .where(sql`${fileBatches.reportedAt} is null and not exists ${inProgress}`)
    .limit(ROWS_A_RUN);
  for (const { id } of idle) {
    await withTransaction(db, (transaction) => reportBatch(transaction, id, now));
  }
}
