import { and, gt, inArray, isNull, or, sql } from "drizzle-orm";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import {
  type ChunkingStrategy,
  type FileAttributes,
  fileBatches,
  files,
  vectorStoreFiles,
} from "../../db/tables/knowledge.ts";
import { raiseVersion } from "../ingest/chunks/remove-chunks.ts";
import { enqueueIngestion, enqueueSettlement, newBatchId } from "../ingest/ingestion-jobs.ts";
import { reportEnd } from "../ingest/report-ingested.ts";
import { visibleTo } from "../rights.ts";
import { refuseExpired, type StoreRow } from "./stores.ts";
import { touchStores } from "./touch-stores.ts";

/** A file to be added to a store. */
export interface NewStoreFile {
  readonly fileId: string;
  readonly attributes: FileAttributes;
  /** Null: `auto`. */
  readonly chunking: ChunkingStrategy | null;
}

/** A file in a store as the database has it. */
export type StoreFileRow = typeof vectorStoreFiles.$inferSelect;

interface Addition {
  /** Locked by the transaction. */
  readonly store: StoreRow;
  readonly files: readonly NewStoreFile[];
  readonly caller: Caller;
  /** They are reported, and can be cancelled, together. */
  readonly inBatch: boolean;
}

/**
 * Adds files to a store and has them ingested. A file that the store has already, with the same strategy, is not read
 * again: it takes the new attributes. Rejects with `not_found` for a file that the caller may not use.
 *
 * @param now Unix milliseconds.
 * @returns the id of the batch; null without one.
 */
export async function addFiles(
  transaction: Db,
  { store, files: given, caller, inBatch }: Addition,
  now: number,
): Promise<string | null> {
  refuseExpired(store, now);
  const added = [...new Map(given.map((file) => [file.fileId, file])).values()];
  if (added.length === 0) return null;
  const ids = added.map(({ fileId }) => fileId);
  await refuseForeign(transaction, ids, { caller, now });
  const known = await readKnown(transaction, store.id, ids);
  const batchId = inBatch ? await insertBatch(transaction, store.id, now) : null;
  const rows = added.map((file) => {
    const before = known.get(file.fileId);
    const row = { ...file, vectorStoreId: store.id, batchId };
    return before !== undefined && isKept(before, file)
      ? { ...before, batchId: batchId ?? before.batchId, attributes: file.attributes }
      : { ...FRESH, createdAt: timeAfter(before, now), ...row };
  });
  await storeRows(transaction, rows);
  if (known.size > 0) await raiseVersion(transaction, store.id);
  const { id: vectorStoreId, generation } = store;
  const fresh = rows.filter(
    (row) => row.status === "in_progress" && known.get(row.fileId)?.status !== "in_progress",
  );
  const jobs = fresh.map(({ fileId }) => ({ vectorStoreId, fileId, generation }));
  await enqueueIngestion(transaction, jobs, now);
  if (batchId === null) await reportCompleted(transaction, rows, now);
  else await settle(transaction, { batchId, hasJobs: jobs.length > 0, known }, now);
  await touchStores(transaction, [store.id], now);
  return batchId;
}

const FRESH = {
  status: "in_progress",
  errorCode: null,
  errorMessage: null,
  chunksDone: 0,
  chunksTotal: null,
  generation: null,
  usageBytes: 0,
  sourceConnection: null,
  sourcePath: null,
  sourceSize: null,
  sourceModifiedMs: null,
} as const;

/**
 * A file that is added again gets another time, by which its first worker, which may still run, sees that the chunks it
 * has are not wanted any more.
 */
function timeAfter(before: StoreFileRow | undefined, now: number): Date {
  return new Date(Math.max(now, (before?.createdAt.getTime() ?? Number.NEGATIVE_INFINITY) + 1));
}

/** A file in progress keeps its strategy, too: its worker has begun with it. */
function isKept(before: StoreFileRow, { chunking }: NewStoreFile): boolean {
  if (before.status === "in_progress") return true;
  if (before.status !== "completed") return false;
  return (
    before.chunking?.max_chunk_size_tokens === chunking?.max_chunk_size_tokens &&
    before.chunking?.chunk_overlap_tokens === chunking?.chunk_overlap_tokens
  );
}

async function refuseForeign(
  transaction: Db,
  ids: readonly string[],
  { caller, now }: { readonly caller: Caller; readonly now: number },
): Promise<void> {
  const isPresent = or(isNull(files.expiresAt), gt(files.expiresAt, new Date(now)));
  const usable = await transaction
    .select({ id: files.id })
    .from(files)
    .where(and(inArray(files.id, [...ids]), visibleTo(files, caller), isPresent))
    // As a deletion locks them.
    .orderBy(files.id)
    .for("key share");
  const found = new Set(usable.map(({ id }) => id));
  const missing = ids.find((id) => !found.has(id));
  if (missing === undefined) return;
  throw new ServiceError(
    "not_found",
    `There is no file '${missing.slice(0, 64)}'. Upload it with POST /v1/files first.`,
    { param: ids.length === 1 ? "file_id" : "file_ids" },
  );
}

async function readKnown(
  transaction: Db,
  vectorStoreId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoreFileRow>> {
  const { vectorStoreId: store, fileId } = vectorStoreFiles;
  const rows = await transaction
    .select()
    .from(vectorStoreFiles)
    .where(and(sql`${store} = ${vectorStoreId}`, inArray(fileId, [...ids])))
    .for("update");
  return new Map(rows.map((row) => [row.fileId, row]));
}

async function storeRows(transaction: Db, rows: readonly StoreFileRow[]): Promise<void> {
  const { vectorStoreId, fileId } = vectorStoreFiles;
  const given = (name: string) => sql.raw(`excluded.${name}`);
  await transaction
    .insert(vectorStoreFiles)
    .values([...rows])
    .onConflictDoUpdate({
      target: [vectorStoreId, fileId],
      set: {
        batchId: given("batch_id"),
        status: given("status"),
        errorCode: given("error_code"),
        errorMessage: given("error_message"),
        attributes: given("attributes"),
        chunking: given("chunking"),
        chunksDone: given("chunks_done"),
        chunksTotal: given("chunks_total"),
        generation: given("generation"),
        usageBytes: given("usage_bytes"),
        createdAt: given("created_at"),
      },
    });
}

async function insertBatch(transaction: Db, vectorStoreId: string, now: number): Promise<string> {
  const id = newBatchId();
  await transaction.insert(fileBatches).values({ id, vectorStoreId, createdAt: new Date(now) });
  return id;
}

/** Files without a batch that are found already have ended, too: somebody may wait for the event. */
async function reportCompleted(
  transaction: Db,
  rows: readonly StoreFileRow[],
  now: number,
): Promise<void> {
  for (const { vectorStoreId, fileId, status } of rows) {
    if (status !== "completed") continue;
    await reportEnd(transaction, { vectorStoreId, batchId: null, fileId, status }, now);
  }
}

interface Settlement {
  readonly batchId: string;
  readonly hasJobs: boolean;
  readonly known: ReadonlyMap<string, StoreFileRow>;
}

/** Batches that have lost files to the new one may have nothing in progress any more, and the new one may have nothing to do. */
async function settle(
  transaction: Db,
  { batchId, hasJobs, known }: Settlement,
  now: number,
): Promise<void> {
  const waiting = [...known.values()].filter(({ status }) => status === "in_progress");
  const left = waiting.map((row) => row.batchId);
  await enqueueSettlement(transaction, hasJobs ? left : [...left, batchId], now);
}
