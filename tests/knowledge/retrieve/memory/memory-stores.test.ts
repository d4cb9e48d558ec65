import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../src/db/database.ts";
import { memoryNeeded } from "../../../../src/knowledge/retrieve/memory/memory-stores.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { openEmbeddedInMemory } from "../../../support/servers/databases/test-database.ts";
import {
  addFile,
  addStore,
  openRetrievalStage,
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
