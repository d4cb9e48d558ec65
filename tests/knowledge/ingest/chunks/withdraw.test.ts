import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../../src/db/context.ts";
import { fileBatches, files, vectorStores } from "../../../../src/db/tables/knowledge.ts";
import { removeFilesFromAllStores } from "../../../../src/knowledge/ingest/chunks/remove-chunks.ts";
import {
  cancelIngestion,
  enqueueIngestion,
} from "../../../../src/knowledge/ingest/ingestion-jobs.ts";
import {
  type IngestStage,
  longText,
  openIngestStage,
} from "../../../support/stages/knowledge/ingest-stage.ts";

const WAIT = { timeout: 60_000, interval: 20 };
let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

type Withdrawal = (store: string, ids: readonly string[], batch: string) => Promise<void>;

const inTransaction = (work: Parameters<typeof withTransaction<void>>[1]) =>
  withTransaction(stage.database.db, work);
const cancel: Withdrawal = (vectorStoreId, _, batchId) =>
  inTransaction(async (transaction) => {
    await transaction
      .update(fileBatches)
      .set({ cancelledAt: new Date() })
      .where(eq(fileBatches.id, batchId));
    await cancelIngestion(transaction, { vectorStoreId, batchId }, Date.now());
  });
const deleteFiles: Withdrawal = (_, ids) =>
  inTransaction(async (transaction) => {
    await removeFilesFromAllStores(transaction, ids, Date.now());
    for (const id of ids) await transaction.delete(files).where(eq(files.id, id));
  });
const deleteStore: Withdrawal = (id) =>
  inTransaction(async (transaction) => {
    await transaction.delete(vectorStores).where(eq(vectorStores.id, id));
  });

/** When the work is withdrawn: before it begins, while the file is read, and around requests to the engine. */
const PHASES = ["waiting", "reading", "first request", "later request"] as const;

/** Holds the ingestion up in a phase, withdraws the work, and lets it continue. */
async function withdrawIn(phase: (typeof PHASES)[number], withdraw: Withdrawal) {
  const store = await stage.createStore();
  const ids = [
    await stage.upload("a.txt", longText(180, "a")),
    await stage.upload("b.txt", longText(180, "b")),
  ];
  const batch = (await stage.add(store, ids, { batch: true })) ?? "";
  let withdrawn: Promise<void> | undefined;
  const now = () => {
    withdrawn ??= withdraw(store, ids, batch);
    return withdrawn;
  };
  let requests = 0;
  if (phase === "waiting") await now();
  const replica = await stage.startReplica({
    around: {
      readChunks: (real) => async (file, signal) => {
        const chunks = await real(file, signal);
        if (phase === "reading") await now();
        return chunks;
      },
      embedder: (real) => ({
        async embedPassages(...call) {
          requests += 1;
          const vectors = await real.embedPassages(...call);
          if (phase === "first request" || (phase === "later request" && requests > 2)) await now();
          return vectors;
        },
      }),
    },
  });
  replica.ingestion.wake();
  await vi.waitFor(async () => {
    replica.ingestion.wake();
    expect(await pendingJobs()).toBe(0);
  }, WAIT);
  await replica.runJobs();
  await vi.waitFor(async () => expect(await pendingJobs()).toBe(0), WAIT);
  await replica.close();
  return { store, ids };
}

async function pendingJobs(): Promise<number> {
  const [row] = await stage.database.db.execute<{ count: number }>(sql`
    select count(*)::int as count from outbox_events
    where sink in ('ingest', 'ingest_steps') and delivered_at is null and dead_at is null`);
  return row?.count ?? -1;
}

async function chunkCount(store: string): Promise<number> {
  const [row] = await stage.database.db.execute<{ count: number }>(
    sql`select count(*)::int as count from chunks where vector_store_id = ${store}`,
  );
  return row?.count ?? -1;
}

describe.each(PHASES)("work that is withdrawn in the phase '%s'", (phase) => {
  test("by cancelling the batch ends as cancelled, without chunks, and is reported once", async () => {
    const { store } = await withdrawIn(phase, cancel);
    const states = (await stage.filesOf(store)).map(({ status }) => status);
    expect(states).toEqual(["cancelled", "cancelled"]);
    expect(await chunkCount(store)).toBe(0);
    expect(await stage.reports(store)).toMatchObject([{ completed: 0, failed: 0, cancelled: 2 }]);
  });

  test("by deleting the files leaves neither rows nor chunks", async () => {
    const { store } = await withdrawIn(phase, deleteFiles);
    expect(await stage.filesOf(store)).toEqual([]);
    expect(await chunkCount(store)).toBe(0);
  });

  test("by deleting the store leaves neither rows nor chunks", async () => {
    const { store } = await withdrawIn(phase, deleteStore);
    expect(await stage.filesOf(store)).toEqual([]);
    expect(await chunkCount(store)).toBe(0);
  });
});

describe("the repair of ingestion", () => {
  test("gives a file in progress without a job a new one", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("a.txt", longText(3));
    await stage.add(store, [id]);
    await stage.database.db.execute(sql`delete from outbox_events where sink = 'ingest'`);
    const replica = await stage.startReplica();
    await replica.runJobs();
    await stage.untilEnded(store);
    expect(await stage.fileOf(store, id)).toMatchObject({ status: "completed" });
    await replica.close();
  });

  test("fails a file whose job was given up because each of its workers was lost", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("a.txt", longText(3));
    await stage.add(store, [id]);
    await stage.database.db.execute(
      sql`update outbox_events set attempts = 3 where sink = 'ingest' and delivered_at is null and dead_at is null`,
    );
    const replica = await stage.startReplica();
    replica.ingestion.wake();
    await vi.waitFor(async () => {
      expect(await pendingJobs()).toBe(0);
    }, WAIT);
    await replica.runJobs();
    const file = await stage.fileOf(store, id);
    expect(file).toMatchObject({ status: "failed", errorCode: "server_error" });
    expect(file?.errorMessage).toContain("several times");
    expect(await stage.reports(store)).toMatchObject([{ failed: 1, batch_id: null }]);
    await replica.close();
  });

  test("leaves a file alone that waits for its turn", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("a.txt", longText(3));
    await stage.add(store, [id]);
    const idle = await stage.startReplica({ environment: { INGEST_CONCURRENCY: "0" } });
    await idle.runJobs();
    expect(await pendingJobs()).toBe(1);
    expect(await stage.fileOf(store, id)).toMatchObject({ status: "in_progress", chunksDone: 0 });
    await idle.close();
  });

  test("a job that is stored a second time finds nothing to do", async () => {
    const store = await stage.createStore();
    const id = await stage.upload("a.txt", longText(3));
    await stage.add(store, [id]);
    const again = { vectorStoreId: store, fileId: id, generation: 1 };
    await inTransaction((transaction) => enqueueIngestion(transaction, [again, again], Date.now()));
    const replica = await stage.startReplica();
    replica.ingestion.wake();
    await vi.waitFor(async () => {
      replica.ingestion.wake();
      expect(await pendingJobs()).toBe(0);
    }, WAIT);
    const file = await stage.fileOf(store, id);
    expect(file?.status).toBe("completed");
    expect(await stage.chunksOf(store, id)).toHaveLength(file?.chunksTotal ?? -1);
    expect(await stage.reports(store)).toHaveLength(1);
    await replica.close();
  });
});
