import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import { vectorStoreFiles } from "../../../src/db/tables/knowledge.ts";
import { startReindex } from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import {
  type IngestStage,
  longText,
  MODEL,
  OTHER_MODEL,
  openIngestStage,
} from "../../support/stages/knowledge/ingest-stage.ts";

const WAIT = { timeout: 90_000, interval: 20 };
let stage: IngestStage;

beforeAll(async () => {
  stage = await openIngestStage();
});
afterAll(() => stage.close());

const reindex = (id: string, model = OTHER_MODEL) =>
  withTransaction(stage.database.db, (transaction) =>
    startReindex(transaction, { id }, { model, now: Date.now() }),
  );
const untilSwapped = (id: string) =>
  vi.waitFor(async () => expect((await stage.storeOf(id)).nextGeneration).toBeNull(), WAIT);

/** What a search sees: the files and the lengths of the vectors of all chunks that are found. */
async function found(store: string) {
  const rows = await stage.database.db.execute<{
    file_id: string;
    length: number;
    count: number;
  }>(sql`
    select chunk.file_id, array_length(chunk.embedding, 1) as length, count(*)::int as count
    from chunks as chunk
    join vector_stores as store on store.id = chunk.vector_store_id and store.generation = chunk.generation
    join vector_store_files as file on file.vector_store_id = store.id and file.file_id = chunk.file_id
    where store.id = ${store} and file.status = 'completed'
    group by 1, 2 order by 1, 2`);
  return rows.map((row) => ({ ...row }));
}

async function filledStore(texts: readonly string[]) {
  const store = await stage.createStore();
  const ids = await Promise.all(texts.map((text, index) => stage.upload(`${index}.txt`, text)));
  await stage.add(store, ids);
  const replica = await stage.startReplica();
  replica.ingestion.wake();
  await stage.untilEnded(store);
  return { store, ids, replica };
}

describe("a reindex", () => {
  test("shows searches the old vectors until it shows them all the new ones", async () => {
    const { store, ids, replica } = await filledStore([
      longText(60, "a"),
      longText(60, "b"),
      longText(60, "c"),
    ]);
    const before = await found(store);
    const sizes = (await stage.filesOf(store)).map(({ usageBytes }) => usageBytes);
    const seen: (typeof before)[] = [];
    let isOver = false;
    const searching = (async () => {
      while (!isOver) {
        seen.push(await found(store));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    await reindex(store);
    replica.ingestion.wake();
    await untilSwapped(store);
    isOver = true;
    await searching;
    const after = await found(store);
    expect(after).toEqual(before.map((row) => ({ ...row, length: 1_024 })));
    for (const state of seen) expect([before, after]).toContainEqual(state);
    const swapped = await stage.storeOf(store);
    expect(swapped).toMatchObject({
      embeddingModel: OTHER_MODEL,
      dimensions: 1_024,
      generation: 2,
    });
    const files = await stage.filesOf(store);
    expect(files.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
    for (const [index, file] of files.entries()) {
      expect(file.usageBytes).toBe(
        (sizes[index] ?? 0) + (file.chunksTotal ?? 0) * 4 * (1_024 - 256),
      );
    }
    await replica.runJobs();
    expect(await stage.chunksOf(store, ids[0] ?? "", 1)).toEqual([]);
    await replica.close();
  });

  test("counts the chunks of more files than one statement does", async () => {
    const { store, replica } = await filledStore([
      longText(2, "a"),
      longText(4, "b"),
      longText(6, "c"),
    ]);
    const counts = async () => (await stage.filesOf(store)).map((file) => file.chunksTotal);
    const before = await counts();
    // Each two of them are too many for one statement.
    const isOfStore = eq(vectorStoreFiles.vectorStoreId, store);
    const { db } = stage.database;
    await db.update(vectorStoreFiles).set({ chunksTotal: 15_000 }).where(isOfStore);
    await reindex(store);
    replica.ingestion.wake();
    await untilSwapped(store);
    expect(await counts()).toEqual(before);
    await replica.close();
  });

  test("takes files with it that arrive meanwhile, and those whose ingestion it overtakes", async () => {
    const { store, replica } = await filledStore([longText(60, "a")]);
    await replica.close();
    const late = await stage.upload("late.txt", longText(80, "late"));
    await stage.add(store, [late]);
    await reindex(store);
    const later = await stage.upload("later.txt", longText(5, "later"));
    await stage.add(store, [later]);
    const next = await stage.startReplica();
    next.ingestion.wake();
    await stage.untilEnded(store);
    await untilSwapped(store);
    await vi.waitFor(async () => {
      const lengths = (await found(store)).map(({ length }) => length);
      expect(lengths).toEqual([1_024, 1_024, 1_024]);
    }, WAIT);
    await next.close();
  });

  test("continues after a crash", async () => {
    const { store, replica } = await filledStore([longText(200, "a"), longText(200, "b")]);
    await replica.close();
    await reindex(store);
    let requested: () => void = () => undefined;
    const isRequested = new Promise<void>((resolve) => {
      requested = resolve;
    });
    let requests = 0;
    const crashed = await stage.startReplica({
      around: {
        embedder: (real) => ({
          embedPassages(...call) {
            requests += 1;
            if (requests === 4) requested();
            return real.embedPassages(...call);
          },
        }),
      },
    });
    crashed.ingestion.wake();
    await isRequested;
    await crashed.close();
    const next = await stage.startReplica();
    next.ingestion.wake();
    await untilSwapped(store);
    expect((await found(store)).map(({ length }) => length)).toEqual([1_024, 1_024]);
    await next.close();
  });

  test("that cannot embed a file leaves the old generation, says why, and can be repeated", async () => {
    const { store, ids, replica } = await filledStore([longText(20, "a"), longText(20, "b")]);
    const before = await found(store);
    await stage.database.db.execute(
      sql`update files set sha256 = ${"0".repeat(64)} where id = ${ids[1] ?? ""}`,
    );
    await reindex(store);
    replica.ingestion.wake();
    await untilSwapped(store);
    expect(await stage.storeOf(store)).toMatchObject({ embeddingModel: MODEL, generation: 1 });
    expect((await stage.storeOf(store)).reindexError).toContain("1.txt");
    expect(await found(store)).toEqual(before);
    await stage.database.db
      .delete(vectorStoreFiles)
      .where(eq(vectorStoreFiles.fileId, ids[1] ?? ""));
    await reindex(store);
    replica.ingestion.wake();
    await untilSwapped(store);
    expect(await stage.storeOf(store)).toMatchObject({
      embeddingModel: OTHER_MODEL,
      generation: 3,
    });
    expect((await found(store)).map(({ length }) => length)).toEqual([1_024]);
    await replica.close();
  });

  test("of a store without files is over at once", async () => {
    const store = await stage.createStore();
    await reindex(store);
    const replica = await stage.startReplica();
    replica.ingestion.wake();
    await untilSwapped(store);
    expect(await stage.storeOf(store)).toMatchObject({
      embeddingModel: OTHER_MODEL,
      dimensions: null,
    });
    await replica.close();
  });
});
