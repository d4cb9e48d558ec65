import { sql } from "drizzle-orm";
import { loadConfig } from "../../../../src/config/load-config.ts";
import type { Settings } from "../../../../src/config/settings.ts";
import type { AttributeFilter } from "../../../../src/core/file-search.ts";
import type { Database } from "../../../../src/db/database.ts";
import {
  chunks,
  type FileAttributes,
  files,
  vectorStoreFiles,
  vectorStores,
} from "../../../../src/db/tables/knowledge.ts";
import {
  openRetrieval,
  type Retrieval,
} from "../../../../src/knowledge/retrieve/open-retrieval.ts";
import type { Passage } from "../../../../src/knowledge/retrieve/passage.ts";
import { tsvectorOf } from "../../../../src/knowledge/retrieve/words.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { systemClock } from "../../../../src/lib/time/clock.ts";

const INSERTED_AT_ONCE = 250;

export interface StagedChunk {
  readonly text: string;
  readonly vector: Float32Array;
}

export interface StagedFile {
  readonly storeId: string;
  readonly id: string;
  readonly chunks: readonly StagedChunk[];
  readonly attributes?: FileAttributes;
  readonly generation?: number;
  readonly status?: "in_progress" | "completed";
}

export interface RetrievalStageOptions {
  readonly database: Database;
  readonly settings?: Partial<Settings>;
  /** The vector of a question; default: none is asked for. */
  readonly embed?: (text: string, model: string) => Float32Array | Promise<Float32Array>;
  readonly exactChunksMax?: number;
}

/** The search on a database that the test fills. */
export interface RetrievalStage {
  readonly retrieval: Retrieval;
  readonly ask: (question: StagedQuestion) => Promise<readonly Passage[]>;
  /** Builds and drops indexes, as the job does. */
  readonly keepIndexes: () => Promise<void>;
}

export interface StagedQuestion {
  readonly storeIds: readonly string[];
  readonly text: string;
  readonly limit?: number;
  readonly minSimilarity?: number;
  readonly filter?: AttributeFilter;
  readonly signal?: AbortSignal;
}

export async function openRetrievalStage({
  database,
  settings,
  embed = () => Promise.reject(new Error("no vector")),
  exactChunksMax,
}: RetrievalStageOptions): Promise<RetrievalStage> {
  const base = {
    settings: { ...loadConfig({}).settings, ...settings },
    database,
    clock: systemClock,
    log: createLog("fatal"),
  };
  const embedder = {
    embedQuestion: async (model: string, text: string) => embed(text, model),
  };
  const retrieval = await openRetrieval(base, {
    embedder,
    ...(exactChunksMax !== undefined && { exactChunksMax }),
  });
  return {
    retrieval,
    ask: ({ storeIds, limit = 8, minSimilarity, signal, ...question }) =>
      retrieval.search({
        ...question,
        vectorStoreIds: storeIds,
        limit,
        minSimilarity,
        signal: signal ?? new AbortController().signal,
      }),
    async keepIndexes() {
      for (const job of retrieval.jobs ?? []) await job.run();
    },
  };
}

export async function addStore(
  { db }: Database,
  id: string,
  dimensions: number,
  model = "embedder",
): Promise<void> {
  await db.insert(vectorStores).values({ id, name: id, embeddingModel: model, dimensions });
}

/** Adds a file with its chunks in one transaction, as ingestion's last one does. */
export async function addFile({ db }: Database, file: StagedFile): Promise<void> {
  const { storeId, id, attributes = {}, generation = 1, status = "completed" } = file;
  await db.transaction(async (transaction) => {
    await transaction
      .insert(files)
      .values({ id, filename: `${id}.txt`, purpose: "assistants", bytes: 1, sha256: id })
      .onConflictDoNothing();
    const count = file.chunks.length;
    await transaction
      .insert(vectorStoreFiles)
      .values({
        vectorStoreId: storeId,
        fileId: id,
        status,
        attributes,
        chunksDone: count,
        chunksTotal: count,
      })
      .onConflictDoUpdate({
        target: [vectorStoreFiles.vectorStoreId, vectorStoreFiles.fileId],
        set: {
          status,
          attributes,
          chunksDone: count,
          chunksTotal: count,
          createdAt: sql`greatest(now(), ${vectorStoreFiles.createdAt} + interval '1 ms')`,
        },
      });
    for (let from = 0; from < count; from += INSERTED_AT_ONCE) {
      const rows = file.chunks.slice(from, from + INSERTED_AT_ONCE);
      await transaction.insert(chunks).values(
        rows.map(({ text, vector }, index) => ({
          vectorStoreId: storeId,
          generation,
          fileId: id,
          position: from + index,
          text,
          embedding: [...vector],
          words: tsvectorOf(text),
        })),
      );
    }
    await raiseVersion(transaction, storeId);
  });
}

/** What every change of what can be found does. */
export async function raiseVersion(db: Database["db"], storeId: string): Promise<void> {
  await db.execute(sql`update vector_stores set version = version + 1 where id = ${storeId}`);
}

export async function removeFile({ db }: Database, storeId: string, id: string): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.execute(
      sql`delete from chunks where vector_store_id = ${storeId} and file_id = ${id}`,
    );
    await transaction.execute(
      sql`delete from vector_store_files where vector_store_id = ${storeId} and file_id = ${id}`,
    );
    await raiseVersion(transaction, storeId);
  });
}

/** A random direction. */
export function randomVector(random: () => number, dimensions: number): Float32Array {
  return unit(Float32Array.from({ length: dimensions }, () => normal(random)));
}

/** A vector near another one; their cosine is about 1 / √(1 + spread²). */
export function nearVector(random: () => number, to: Float32Array, spread: number): Float32Array {
  const noise = randomVector(random, to.length);
  return unit(to.map((value, index) => value + spread * (noise[index] ?? 0)));
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
