import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { randomBase62 } from "../../lib/id.ts";
import { inGroups } from "../../lib/in-groups.ts";
import { enqueue, enqueueInOrder, lockOrderKeys, type NewJob } from "../../queue/enqueue.ts";

/**
 * The topic of the queue whose worker fills vector stores. Its jobs carry ids only; everything else is in the rows they
 * name, and a row that is gone or no longer `in_progress` means that there is nothing left to do. Whoever stores a job
 * wakes the worker after the commit.
 *
 * A file that failed or was cancelled may be added again while its first worker still runs. A worker therefore locks the
 * row, moves `chunks_done` on from the figure that it has read, and stops when it finds another one, or another
 * `created_at`.
 */
export const INGEST_TOPIC = "ingest";
/** The topic of the short jobs that prepare and end that work: they do not wait for a thousand files. */
export const INGEST_STEPS_TOPIC = "ingest_steps";

/** Copies that one job deletes. */
const COPIES_A_JOB = 1_000;

/** The jobs of both topics: their kind, and the body of each. Those of a file are of the first topic. */
export interface IngestionJobs {
  /** Reads, splits, embeds and stores one file of a store. */
  readonly file: IngestedFile;
  /** Builds a generation beside the searched one, then makes it the searched one. */
  readonly reindex: { readonly vectorStoreId: string; readonly generation: number };
  /** Adds the files of a folder to the store of a batch. */
  readonly folder: { readonly batchId: string };
  /** Reports a batch if none of its files is in progress: it was cancelled, or had nothing to do. */
  readonly settle: { readonly batchId: string };
  /** Brings a store to the state of the folder that it follows. */
  readonly follow: { readonly vectorStoreId: string };
  /** Deletes copies of a folder's files that no store has. */
  readonly copies: { readonly fileIds: readonly string[] };
}

/** A file of a store, and the generation that its chunks belong to. */
export interface IngestedFile {
  readonly vectorStoreId: string;
  readonly fileId: string;
  readonly generation: number;
}

/** A folder of a file connection, and the pattern of the paths in it. */
export interface Folder {
  readonly fileConnection: string;
  readonly glob: string;
}

/**
 * Stores one job a file, for at most a few thousand files. Their rows are `in_progress` by then.
 * @param now Unix milliseconds.
 */
export function enqueueIngestion(
  transaction: Db,
  files: readonly IngestedFile[],
  now: number,
): Promise<void> {
  return enqueue(
    transaction,
    files.map((file) => job("file", file)),
    now,
  );
}

/**
 * Cancels the files of a batch that are in progress. Their worker finds it at its next checkpoint.
 * @param now Unix milliseconds.
 */
export async function cancelIngestion(
  transaction: Db,
  { vectorStoreId, batchId }: { readonly vectorStoreId: string; readonly batchId: string },
  now: number,
): Promise<void> {
  const { status, vectorStoreId: store, batchId: batch } = vectorStoreFiles;
  await transaction
    .update(vectorStoreFiles)
    .set({ status: "cancelled" })
    .where(and(eq(store, vectorStoreId), eq(batch, batchId), eq(status, "in_progress")));
  await enqueueSettlement(transaction, batchId, now);
}

/**
 * Has batches reported that may have no file in progress; null stands for no batch.
 * @param now Unix milliseconds.
 */
export function enqueueSettlement(
  transaction: Db,
  batchIds: string | readonly (string | null)[],
  now: number,
): Promise<void> {
  const ids = new Set([batchIds].flat());
  const known = [...ids].filter((id) => id !== null);
  return enqueue(
    transaction,
    known.map((batchId) => job("settle", { batchId })),
    now,
  );
}

/**
 * Starts to build a store's next generation with an embedding model. The transaction has locked the store's row, and no
 * other generation is being built.
 * @param now Unix milliseconds.
 */
export async function startReindex(
  transaction: Db,
  { id }: { readonly id: string },
  { model, now }: { readonly model: string; readonly now: number },
): Promise<void> {
  // A failed reindex may have left chunks of its generation, which are deleted in the background.
  const next = sql<number>`${vectorStores.latestGeneration} + 1`;
  const [begun] = await transaction
    .update(vectorStores)
    .set({
      nextGeneration: next,
      latestGeneration: next,
      nextEmbeddingModel: model,
      nextDimensions: null,
      reindexError: null,
    })
    .where(eq(vectorStores.id, id))
    .returning({ generation: vectorStores.latestGeneration });
  if (begun === undefined) return;
  await enqueueReindex(transaction, { vectorStoreId: id, generation: begun.generation }, now);
}

/**
 * Has the files of a store ingested for the generation that it builds.
 * @param now Unix milliseconds.
 */
export function enqueueReindex(
  transaction: Db,
  next: IngestionJobs["reindex"],
  now: number,
): Promise<void> {
  return enqueue(transaction, job("reindex", next), now);
}

/**
 * Has copies of a folder's files deleted that a store leaves behind, unless another store has them. There may be tens of
 * thousands, too many for a caller to wait for.
 * @param now Unix milliseconds.
 */
export function enqueueCopies(
  transaction: Db,
  fileIds: readonly string[],
  now: number,
): Promise<void> {
  const portions = [...inGroups(fileIds, COPIES_A_JOB)];
  return enqueue(
    transaction,
    portions.map((portion) => job("copies", { fileIds: portion })),
    now,
  );
}

/** Jobs that add files of a folder to one store take turns, so that none of them adds a file a second time. */
function folderKey(vectorStoreId: string): string {
  return `folder ${vectorStoreId}`;
}

/**
 * Has stores brought to the state of the folders that they follow. One waiting job a store is enough, whatever has
 * changed; at most one of them runs.
 * @param now Unix milliseconds.
 */
export async function enqueueFollowing(
  transaction: Db,
  vectorStoreIds: readonly string[],
  now: number,
): Promise<void> {
  const keys = vectorStoreIds.map(
    (id) => sql`(${INGEST_STEPS_TOPIC}::text, ${folderKey(id)}::text)`,
  );
  if (keys.length === 0) return;
  await lockOrderKeys(
    transaction,
    sql`select * from (values ${sql.join(keys, sql`, `)}) as stores (sink, order_key)`,
  );
  for (const vectorStoreId of vectorStoreIds) {
    const follow = job("follow", { vectorStoreId });
    await enqueueInOrder(
      transaction,
      { ...follow, orderKey: folderKey(vectorStoreId), cap: 1 },
      now,
    );
  }
}

/**
 * Creates the batch of a folder's new and changed files. It counts as in progress until it is reported, because its
 * files are listed by the worker.
 * @param now Unix milliseconds.
 * @returns the batch's id.
 */
export async function createFolderBatch(
  transaction: Db,
  { vectorStoreId, fileConnection, glob }: Folder & { readonly vectorStoreId: string },
  now: number,
): Promise<string> {
  const id = newBatchId();
  const createdAt = new Date(now);
  await transaction
    .insert(fileBatches)
    .values({ id, vectorStoreId, createdAt, fileConnection, glob });
  await enqueueListing(transaction, { vectorStoreId, batchId: id }, now);
  return id;
}

/**
 * Has the files of a folder listed for its batch.
 * @param now Unix milliseconds.
 */
export async function enqueueListing(
  transaction: Db,
  { vectorStoreId, batchId }: { readonly vectorStoreId: string; readonly batchId: string },
  now: number,
): Promise<void> {
  const orderKey = folderKey(vectorStoreId);
  await enqueueInOrder(transaction, { ...job("folder", { batchId }), orderKey }, now);
}

export function newBatchId(): string {
  return `vsfb_${randomBase62(22)}`;
}

function job<Kind extends keyof IngestionJobs>(kind: Kind, body: IngestionJobs[Kind]): NewJob {
  return { topic: kind === "file" ? INGEST_TOPIC : INGEST_STEPS_TOPIC, kind, body: { ...body } };
}
