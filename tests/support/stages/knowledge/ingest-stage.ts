import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, asc, eq } from "drizzle-orm";
import { expect, vi } from "vitest";
import { openBackends } from "../../../../src/backends/open-backends.ts";
import { loadConfig } from "../../../../src/config/load-config.ts";
import type { Settings } from "../../../../src/config/settings.ts";
import { withTransaction } from "../../../../src/db/context.ts";
import type { Database } from "../../../../src/db/database.ts";
import { installation } from "../../../../src/db/tables/installation.ts";
import {
  chunks,
  fileBatches,
  vectorStoreFiles,
  vectorStores,
} from "../../../../src/db/tables/knowledge.ts";
import { outboxEvents } from "../../../../src/db/tables/outbox.ts";
import { createEmbedder, type Embedder } from "../../../../src/knowledge/embed-texts.ts";
import { openFileConnections } from "../../../../src/knowledge/file-connections.ts";
import {
  createFileFromBytes,
  createFileFromStream,
} from "../../../../src/knowledge/files/create-file.ts";
import { openFiles } from "../../../../src/knowledge/files/open-files.ts";
import {
  openChunkReader,
  type ReadChunks,
} from "../../../../src/knowledge/ingest/chunks/read-chunks.ts";
import { enqueueIngestion, newBatchId } from "../../../../src/knowledge/ingest/ingestion-jobs.ts";
import { type Ingestion, openIngestion } from "../../../../src/knowledge/ingest/open-ingestion.ts";
import { randomBase62 } from "../../../../src/lib/id.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { createInternalEvents } from "../../../../src/queue/internal-events.ts";
import { openTestDatabase } from "../../servers/databases/test-database.ts";
import { startSimulator, type TestSimulator } from "../../servers/start-simulator.ts";

export const MODEL = "sim-embed";
export const OTHER_MODEL = "sim-embed-large";

/** Ingestion has ended, on a machine that does much else, too. */
const ENDED = { timeout: 90_000, interval: 20 };

export interface ReplicaOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly isBusy?: () => boolean;
  /** Stands between the ingestion and what it uses, to hold it up or to count. */
  readonly around?: {
    readonly readChunks?: (real: ReadChunks) => ReadChunks;
    readonly embedder?: (real: Embedder) => Pick<Embedder, "embedPassages">;
  };
}

/** One server's part that ingests. */
export interface IngestReplica {
  readonly ingestion: Ingestion;
  readonly runJobs: () => Promise<void>;
  readonly wakeEvents: () => void;
  readonly close: () => Promise<void>;
}

/** A database, an embedding engine and a data folder, for any number of replicas. */
export interface IngestStage {
  readonly database: Database;
  readonly simulator: TestSimulator;
  readonly dataDir: string;
  readonly settings: Settings;
  readonly startReplica: (options?: ReplicaOptions) => Promise<IngestReplica>;
  readonly createStore: (fields?: Partial<typeof vectorStores.$inferInsert>) => Promise<string>;
  /** Resolves with the file's id. */
  readonly upload: (filename: string, content: string | Uint8Array) => Promise<string>;
  /** Adds files, in a batch if there are several or it is asked for, and wakes nobody. */
  readonly add: (
    vectorStoreId: string,
    fileIds: readonly string[],
    options?: { readonly batch?: boolean },
  ) => Promise<string | null>;
  readonly fileOf: (vectorStoreId: string, fileId: string) => Promise<StoreFile | undefined>;
  readonly storeOf: (vectorStoreId: string) => Promise<typeof vectorStores.$inferSelect>;
  readonly filesOf: (vectorStoreId: string) => Promise<readonly StoreFile[]>;
  /** Of one generation, or of the one that is searched. */
  readonly chunksOf: (
    vectorStoreId: string,
    fileId: string,
    generation?: number,
  ) => Promise<readonly (typeof chunks.$inferSelect)[]>;
  readonly untilEnded: (vectorStoreId: string) => Promise<void>;
  /** The bodies of the events that report what was ingested, in the order of their storing. */
  readonly reports: (vectorStoreId: string) => Promise<readonly Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
}

type StoreFile = typeof vectorStoreFiles.$inferSelect;

export async function openIngestStage(
  environment: Readonly<Record<string, string>> = {},
): Promise<IngestStage> {
  const dataDir = await mkdtemp(join(tmpdir(), "ingest-"));
  const database = await openTestDatabase();
  const simulator = await startSimulator();
  const given = {
    DATA_DIR: dataDir,
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    OUTBOX_BACKOFF_SCALE: "0.001",
    ...environment,
  };
  const { settings } = loadConfig(given);
  const log = createLog("silent");
  const clock = { now: () => Date.now() };
  const { db } = database;
  const base = { settings, database, clock, log };
  // Files need an id of the installation to be marked with.
  await db.insert(installation).values({ secretFingerprint: "a test's" });
  const originals = (await openFiles(base, () => undefined)).store;
  const replicas: IngestReplica[] = [];

  const startReplica = async (options: ReplicaOptions = {}): Promise<IngestReplica> => {
    const own = loadConfig({ ...given, ...options.environment }).settings;
    const ownBase = { ...base, settings: own };
    const backends = await openBackends({ ...ownBase });
    const events = createInternalEvents({ ...ownBase, db, scale: 0.001, tryTimeoutMs: 10_000 });
    const reader = openChunkReader(own, originals);
    const embedder = createEmbedder(backends.embeddings, own);
    const { around = {} } = options;
    const ingestion = openIngestion(ownBase, {
      embedder: around.embedder?.(embedder) ?? embedder,
      readChunks: around.readChunks?.(reader.readChunks) ?? reader.readChunks,
      connections: openFileConnections(own),
      async takeFile(source, fields) {
        const file = await createFileFromStream(originals, source, {
          ...fields,
          purpose: "assistants",
        });
        return file.id;
      },
      events,
      isBusy: options.isBusy ?? (() => false),
    });
    events.start();
    let isClosed = false;
    const replica: IngestReplica = {
      ingestion,
      wakeEvents: events.wake,
      async runJobs() {
        for (const job of ingestion.jobs) await job.run();
      },
      async close() {
        if (isClosed) return;
        isClosed = true;
        await Promise.all([ingestion.close(0), events.close()]);
        reader.close();
        await backends.close();
      },
    };
    replicas.push(replica);
    return replica;
  };

  const filesOf = (vectorStoreId: string) =>
    db
      .select()
      .from(vectorStoreFiles)
      .where(eq(vectorStoreFiles.vectorStoreId, vectorStoreId))
      .orderBy(asc(vectorStoreFiles.createdAt));
  const storeOf = async (id: string) => {
    const [store] = await db.select().from(vectorStores).where(eq(vectorStores.id, id));
    if (store === undefined) throw new Error("the store is gone");
    return store;
  };
  return {
    database,
    simulator,
    dataDir,
    settings,
    startReplica,
    filesOf,
    storeOf,
    async createStore(fields = {}) {
      const id = `vs_${randomBase62(22)}`;
      await db
        .insert(vectorStores)
        .values({ id, name: "a store", embeddingModel: MODEL, ...fields });
      return id;
    },
    async upload(filename, content) {
      const fields = {
        filename,
        purpose: "assistants",
        ownerId: null,
        visibility: "everyone",
      } as const;
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      const { id } = await createFileFromBytes(originals, bytes, fields);
      return id;
    },
    add: (vectorStoreId, fileIds, { batch = fileIds.length > 1 } = {}) =>
      withTransaction(db, async (transaction) => {
        const now = clock.now();
        const batchId = batch ? newBatchId() : null;
        if (batchId !== null) {
          await transaction.insert(fileBatches).values({ id: batchId, vectorStoreId });
        }
        await transaction
          .insert(vectorStoreFiles)
          .values(fileIds.map((fileId) => ({ vectorStoreId, fileId, batchId })));
        const { generation } = await transaction
          .select({ generation: vectorStores.generation })
          .from(vectorStores)
          .where(eq(vectorStores.id, vectorStoreId))
          .then(([row]) => row ?? { generation: 1 });
        await enqueueIngestion(
          transaction,
          fileIds.map((fileId) => ({ vectorStoreId, fileId, generation })),
          now,
        );
        return batchId;
      }),
    async fileOf(vectorStoreId, fileId) {
      return (await filesOf(vectorStoreId)).find((file) => file.fileId === fileId);
    },
    async chunksOf(vectorStoreId, fileId, generation) {
      const wanted = generation ?? (await storeOf(vectorStoreId)).generation;
      return db
        .select()
        .from(chunks)
        .where(
          and(
            eq(chunks.vectorStoreId, vectorStoreId),
            eq(chunks.fileId, fileId),
            eq(chunks.generation, wanted),
          ),
        )
        .orderBy(asc(chunks.position));
    },
    async untilEnded(vectorStoreId) {
      await vi.waitFor(async () => {
        const states = (await filesOf(vectorStoreId)).map(({ status }) => status);
        expect(states).not.toContain("in_progress");
      }, ENDED);
    },
    async reports(vectorStoreId) {
      const rows = await db
        .select({ body: outboxEvents.body })
        .from(outboxEvents)
        .where(eq(outboxEvents.kind, "knowledge.ingested"))
        .orderBy(asc(outboxEvents.createdAt));
      return rows
        .map(({ body }) => ({ ...body }))
        .filter((body) => body["vector_store_id"] === vectorStoreId);
    },
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
      await simulator.stop();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Text of about so many chunks, with different words in each of them. */
export function longText(chunkCount: number, seed = "text"): string {
  const paragraphs = Array.from(
    { length: chunkCount },
    (_, index) =>
      `${seed} ${index}: ${Array.from({ length: 60 }, (_, word) => `word${(index * 7 + word * 13) % 997}`).join(" ")}.`,
  );
  return paragraphs.join("\n\n");
}
