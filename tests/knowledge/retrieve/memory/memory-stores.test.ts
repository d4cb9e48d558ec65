import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttributeFilter } from "../../../../src/core/file-search.ts";
import type { Database } from "../../../../src/db/database.ts";
import { vectorStoreFiles, vectorStores } from "../../../../src/db/tables/knowledge.ts";
import {
  MemoryStores,
  memoryNeeded,
} from "../../../../src/knowledge/retrieve/memory/memory-stores.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { openEmbeddedInMemory } from "../../../support/servers/databases/test-database.ts";
import {
  addFile,
  addStore,
  openRetrievalStage,
  raiseVersion,
  randomVector,
  removeFile,
} from "../../../support/stages/knowledge/retrieval-stage.ts";

const DIMENSIONS = 64;
/** Of which one store fits into a megabyte, and two do not. */
const CHUNKS = 400;
const random = createRandom(3);

let database: Database;

beforeAll(async () => {
  database = await openEmbeddedInMemory();
});

afterAll(() => database.close());

const manyChunks = (name: string, count = CHUNKS) =>
  Array.from({ length: count }, (_, index) => ({
    text: `${name} ${index}`,
    vector: randomVector(random, DIMENSIONS),
  }));

/** The memory with one store, and a search of its current version, which tells how many chunks it finds. */
function openMemory(
  searched: Database,
  { maxBytes, id, dimensions }: { maxBytes: number; id: string; dimensions: number },
) {
  const memory = new MemoryStores({ database: searched, maxBytes, log: createLog("fatal") });
  const search = async (vector: Float32Array, filter?: AttributeFilter) => {
    const [row] = await database.db
      .select({ version: vectorStores.version })
      .from(vectorStores)
      .where(eq(vectorStores.id, id));
    const state = { id, generation: 1, version: row?.version ?? 0, dimensions };
    const store = memory.open({ ...state, embeddingModel: "embedder", isIndexed: false });
    const begun = await store.begin({ vector, words: [], filter, limit: 1_000 });
    return (await begun.finish([])).nearest.length;
  };
  return { memory, search };
}

/** The database, with a count of the statements that read vectors. */
function countLoads(real: Database) {
  let count = 0;
  const counted = (db: Database["db"]) =>
    new Proxy(db, {
      get(target, name) {
        if (name !== "select") return Reflect.get(target, name);
        return (fields: Parameters<typeof target.select>[0]) => {
          if ("vector" in fields) count += 1;
          return target.select(fields);
        };
      },
    });
  const askOwn: Database["askOwn"] = (work) => real.askOwn((db) => work(counted(db)));
  return { database: { ...real, askOwn }, count: () => count };
}

describe("The memory for vectors", () => {
  test("returns exactly what a comparison with every vector returns", async () => {
    const chunks = manyChunks("exact", 2_000);
    await addStore(database, "vs_exact", DIMENSIONS);
    await addFile(database, { storeId: "vs_exact", id: "file-exact", chunks });
    const question = randomVector(random, DIMENSIONS);
    const stage = await openRetrievalStage({ database, embed: () => question });
    const cosineOf = (vector: Float32Array) =>
      vector.reduce((sum, value, index) => sum + value * (question[index] ?? 0), 0);
    const expected = chunks
      .map(({ text, vector }) => ({ text, score: cosineOf(vector) }))
      .sort((one, other) => other.score - one.score)
      .slice(0, 8);
    const passages = await stage.ask({ storeIds: ["vs_exact"], text: "nothing" });
    expect(passages.map(({ text }) => text)).toEqual(expected.map(({ text }) => text));
    for (const [index, { score }] of passages.entries())
      expect(score).toBeCloseTo(expected[index]?.score ?? 0, 5);
    await stage.retrieval.close?.(1_000);
  });

  test("drops the store that was not searched for longest, and loads it again", async () => {
    const names = ["vs_a", "vs_b", "vs_c"];
    for (const id of names) {
      await addStore(database, id, DIMENSIONS);
      await addFile(database, { storeId: id, id: `file-${id}`, chunks: manyChunks(id) });
    }
    const settings = { RAG_MEMORY_MB: 1 };
    const stage = await openRetrievalStage({
      database,
      settings,
      embed: () => randomVector(random, DIMENSIONS),
    });
    const asked = [...names, ...names].map(async (id) => {
      const found = await stage.ask({ storeIds: [id], text: "one" });
      expect(new Set(found.map(({ vectorStoreId }) => vectorStoreId))).toEqual(new Set([id]));
    });
    await Promise.all(asked);
    const all = await stage.ask({ storeIds: names, text: "all", limit: 50 });
    expect(new Set(all.map(({ vectorStoreId }) => vectorStoreId))).toEqual(new Set(names));
    await stage.retrieval.close?.(1_000);
  });

  test("refuses a store that outgrows it, with what to do", async () => {
    await addStore(database, "vs_large", DIMENSIONS);
    await addFile(database, {
      storeId: "vs_large",
      id: "file-large",
      chunks: manyChunks("large", 700),
    });
    const settings = { RAG_MEMORY_MB: 1 };
    const stage = await openRetrievalStage({
      database,
      settings,
      embed: () => randomVector(random, DIMENSIONS),
    });
    await expect(stage.ask({ storeIds: ["vs_large"], text: "one" })).rejects.toThrow(
      "needs 2 MB of memory, and RAG_MEMORY_MB is 1",
    );
    const fits = Math.floor(2 ** 20 / memoryNeeded(1, DIMENSIONS));
    const { refuseOutgrown } = stage.retrieval;
    expect(() => refuseOutgrown({ chunks: fits, dimensions: DIMENSIONS })).not.toThrow();
    expect(() => refuseOutgrown({ chunks: fits + 1, dimensions: DIMENSIONS })).toThrow("pgvector");
    await stage.retrieval.close?.(1_000);
  });

  test("holds no more than it may when a file of a store gives way to another one", async () => {
    const dimensions = 4_096;
    const maxBytes = 5 * 1024 * 1024;
    const vector = new Float32Array(dimensions);
    vector[0] = 1;
    const add = (id: string, count: number) =>
      addFile(database, {
        storeId: "vs_full",
        id: `file-full-${id}`,
        chunks: Array.from({ length: count }, (_, index) => ({ text: `${id} ${index}`, vector })),
      });
    await addStore(database, "vs_full", dimensions);
    await add("a", 60);
    await add("b", 140);
    const { memory, search } = openMemory(database, { maxBytes, id: "vs_full", dimensions });
    expect(await search(vector)).toBe(200);
    await removeFile(database, "vs_full", "file-full-b");
    await add("c", 140);
    expect(await search(vector)).toBe(200);
    expect(memory.bytes).toBeLessThan(maxBytes);
    await memory.close();
  });

  test("loads no vectors when only the attributes of a file change", async () => {
    await addStore(database, "vs_attributes", DIMENSIONS);
    await addFile(database, {
      storeId: "vs_attributes",
      id: "file-attributes",
      chunks: manyChunks("attributes", 5),
    });
    const loads = countLoads(database);
    const { memory, search } = openMemory(loads.database, {
      maxBytes: 2 ** 30,
      id: "vs_attributes",
      dimensions: DIMENSIONS,
    });
    const vector = randomVector(random, DIMENSIONS);
    const filter = { type: "eq", key: "year", value: 2026 } as const;
    await search(vector);
    expect(loads.count()).toBe(1);
    await database.db
      .update(vectorStoreFiles)
      .set({ attributes: { year: 2026 } })
      .where(eq(vectorStoreFiles.fileId, "file-attributes"));
    await raiseVersion(database.db, "vs_attributes");
    expect(await search(vector, filter)).toBe(5);
    expect(loads.count()).toBe(1);
    await memory.close();
  });

  test("starts a store anew when most of what it holds was removed", async () => {
    await addStore(database, "vs_turn", DIMENSIONS);
    const stage = await openRetrievalStage({
      database,
      embed: () => randomVector(random, DIMENSIONS),
    });
    for (let round = 0; round < 6; round += 1) {
      const id = `file-turn-${round}`;
      await addFile(database, { storeId: "vs_turn", id, chunks: manyChunks(id, 20) });
      if (round > 0) await removeFile(database, "vs_turn", `file-turn-${round - 1}`);
      const found = await stage.ask({ storeIds: ["vs_turn"], text: "turn", limit: 50 });
      expect(new Set(found.map(({ fileId }) => fileId))).toEqual(new Set([id]));
      expect(found).toHaveLength(20);
    }
    await stage.retrieval.close?.(1_000);
  });
});
