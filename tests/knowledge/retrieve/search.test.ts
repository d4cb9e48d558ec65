import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAttributeFilter } from "../../../src/codecs/shared/attribute-filter.ts";
import type { Database } from "../../../src/db/database.ts";
import { createRandom } from "../../support/faults/random.ts";
import {
  openPgvectorDatabase,
  openPgvectorServer,
} from "../../support/servers/databases/pgvector-database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  addFile,
  addStore,
  nearVector,
  openRetrievalStage,
  type RetrievalStage,
  type RetrievalStageOptions,
  raiseVersion,
  randomVector,
  removeFile,
} from "../../support/stages/knowledge/retrieval-stage.ts";

const DIMENSIONS = 32;
const random = createRandom(5);
/** What questions are about, by their word. */
const subjects = new Map(
  ["apple", "boat", "cloud"].map((word) => [word, randomVector(random, DIMENSIONS)]),
);
const NOWHERE = randomVector(random, DIMENSIONS);

function vectorOf(text: string): Float32Array {
  for (const [word, vector] of subjects) if (text.includes(word)) return vector;
  return NOWHERE;
}

const chunkOf = (text: string) => ({ text, vector: nearVector(random, vectorOf(text), 0.3) });

interface Way {
  readonly name: string;
  readonly open: () => Promise<{ readonly database: Database; readonly url?: string } | undefined>;
  readonly isIndexed: boolean;
}

/** The ways in which a store is searched. */
const ways: readonly Way[] = [
  {
    name: "in memory",
    open: async () => ({ database: await openTestDatabase() }),
    isIndexed: false,
  },
  {
    name: "by indexes of the embedded database",
    open: async () => ({ database: await openPgvectorDatabase() }),
    isIndexed: true,
  },
  { name: "by indexes of PostgreSQL", open: openPgvectorServer, isIndexed: true },
];

describe.each(ways)("A search $name", ({ open, isIndexed }) => {
  let database: Database;
  let url: string | undefined;
  let stage: RetrievalStage;
  let serial = 0;

  const openStage = (options: Partial<RetrievalStageOptions> = {}) =>
    openRetrievalStage({
      database,
      embed: vectorOf,
      settings: { DATABASE_URL: url },
      ...(isIndexed && { exactChunksMax: 0 }),
      ...options,
    });

  beforeAll(async () => {
    const opened = await open();
    if (opened === undefined) return;
    ({ database, url } = opened);
    stage = await openStage();
  });

  beforeEach(({ skip }) => {
    if (stage === undefined) skip("PostgreSQL has no pgvector here");
  });

  afterAll(async () => {
    await stage?.retrieval.close?.(1_000);
    await database?.close();
  });

  /** A new store with one file for each text. */
  async function storeWith(...texts: readonly string[]): Promise<string> {
    serial += 1;
    const id = `vs_${serial}${"0".repeat(21)}`;
    await addStore(database, id, DIMENSIONS);
    for (const [index, text] of texts.entries())
      await addFile(database, {
        storeId: id,
        id: `file-${serial}-${index}`,
        chunks: [chunkOf(text)],
      });
    if (isIndexed) await stage.keepIndexes();
    return id;
  }

  async function textsFor(
    storeIds: readonly string[],
    text: string,
    more: object = {},
  ): Promise<readonly string[]> {
    const passages = await stage.ask({ storeIds, text, ...more });
    return passages.map((passage) => passage.text);
  }

  test("uses indexes only where they are built", async () => {
    await storeWith("an apple");
    const rows = await database.db.execute(
      sql`select 1 from pg_indexes where indexname like 'chunks_vectors_%'`,
    );
    expect(rows.length > 0).toBe(isIndexed);
  });

  test("is counted with its time when it has ended", async () => {
    const id = await storeWith("an apple");
    const counted = () => {
      const metric = stage.retrieval.metrics?.find(({ name }) => name === "svc_retrieval_seconds");
      return metric?.read().find(({ suffix }) => suffix === "_count")?.value ?? 0;
    };
    const before = counted();
    await stage.ask({ storeIds: [id], text: "apple" });
    await stage
      .ask({ storeIds: [id], text: "apple", signal: AbortSignal.abort(new Error("gone")) })
      .catch(() => undefined);
    expect(counted()).toBe(before + 1);
  });

  test("finds passages by cosine, with their place and score", async () => {
    const id = await storeWith("an apple", "a boat");
    const [first] = await stage.ask({ storeIds: [id], text: "apple", minSimilarity: 0.35 });
    expect(first).toMatchObject({
      vectorStoreId: id,
      text: "an apple",
      filename: expect.stringMatching(/-0\.txt$/),
      attributes: {},
      page: null,
      heading: null,
    });
    expect(first?.score).toBeGreaterThan(0.9);
    expect(first?.score).toBeLessThanOrEqual(1);
  });

  test("keeps to the limit and to the similarity that is asked for", async () => {
    const id = await storeWith("an apple", "a boat", "apple pie", "apple cake");
    expect(await textsFor([id], "apple", { limit: 2 })).toHaveLength(2);
    expect(await textsFor([id], "apple", { minSimilarity: 0.35 })).toHaveLength(3);
    expect(await textsFor([id], "apple")).toHaveLength(4);
    expect(await textsFor([id], "nothing of it", { minSimilarity: 0.9 })).toEqual([]);
    expect(await textsFor([id], " ")).toEqual([]);
  });

  test("finds a code whatever its vector is, and gives its score", async () => {
    const id = await storeWith("an apple", "a boat with E-4711", "a cloud");
    const [first, ...rest] = await stage.ask({
      storeIds: [id],
      text: "apple E-4711",
      minSimilarity: 0.999,
    });
    expect(first?.text).toBe("a boat with E-4711");
    expect(first?.score).toBeLessThan(0.9);
    expect(first?.score).toBeGreaterThanOrEqual(0);
    expect(rest).toEqual([]);
  });

  test("takes a word with a digit for a code only while ten chunks or fewer hold it", async () => {
    const texts = Array.from({ length: 11 }, (_, index) => `boat number ${index} of 2024`);
    const id = await storeWith(...texts);
    const more = { minSimilarity: 0.9, limit: 20 };
    expect(await textsFor([id], "apple 2024", more)).toEqual([]);
    await removeFile(database, id, `file-${serial}-3`);
    expect(await textsFor([id], "apple 2024", more)).toHaveLength(10);
  });

  test("searches several stores, each with the vector of its own model", async () => {
    const one = await storeWith("an apple", "a boat");
    const other = await storeWith("apple juice", "a cloud");
    await database.db.execute(
      sql`update vector_stores set embedding_model = 'second' where id = ${other}`,
    );
    const asked: string[] = [];
    const own = await openStage({
      embed: (text, model) => {
        asked.push(model);
        return vectorOf(text);
      },
    });
    const passages = await own.ask({
      storeIds: [one, other, "vs_gone"],
      text: "apple",
      minSimilarity: 0.35,
    });
    expect(new Set(passages.map(({ text }) => text))).toEqual(new Set(["an apple", "apple juice"]));
    expect(asked.sort()).toEqual(["embedder", "second"]);
    await own.retrieval.close?.(1_000);
  });

  test("passes files by their attributes", async () => {
    const id = await storeWith("an apple");
    await addFile(database, {
      storeId: id,
      id: `file-${serial}-new`,
      chunks: [chunkOf("apple of this year")],
      attributes: { year: 2026 },
    });
    const filter = { type: "gte", key: "year", value: 2026 } as const;
    expect(await textsFor([id], "apple", { filter })).toEqual(["apple of this year"]);
    expect(await textsFor([id], "apple E-1", { filter: { ...filter, value: 2027 } })).toEqual([]);
  });

  test("takes the largest filter that clients may send", async () => {
    const id = await storeWith("an apple");
    await addFile(database, {
      storeId: id,
      id: `file-${serial}-new`,
      chunks: [chunkOf("apple of this year")],
      attributes: { year: 2026 },
    });
    const values = Array.from({ length: 100 }, (_, index) => 1_900 + index);
    const given = {
      type: "or",
      filters: [
        ...Array(10).fill({ type: "in", key: "year", value: values }),
        ...Array(89).fill({ type: "gt", key: "owner", value: "o".repeat(512) }),
        { type: "eq", key: "year", value: 2026 },
      ],
    };
    const filter = parseAttributeFilter(given, []);
    expect(await textsFor([id], "apple", { filter })).toEqual(["apple of this year"]);
    const more = { type: "or", filters: Array(40_000).fill(given.filters.at(-1)) };
    // As many parameters no statement of PostgreSQL has.
    expect(() => parseAttributeFilter(more, ["filters"])).toThrow("at most 100 filters");
  });

  test("embeds the beginning and the end of a long text only", async () => {
    const id = await storeWith("an apple", "a boat");
    const asked: string[] = [];
    const own = await openStage({
      embed: (text) => {
        asked.push(text);
        return vectorOf(text);
      },
    });
    const text = `apple${"x".repeat(100_000)}boat \ud83d`;
    await own.ask({ storeIds: [id], text });
    expect(asked).toEqual([expect.stringMatching(/^applex+\nx+boat $/)]);
    expect(asked[0]?.length).toBeLessThanOrEqual(4_000);
    await own.retrieval.close?.(1_000);
  });

  test("finds what was added, changed and removed since the last one", async () => {
    const id = await storeWith("an apple");
    expect(await textsFor([id], "apple")).toEqual(["an apple"]);
    const file = { storeId: id, id: `file-${serial}-x` };
    await addFile(database, { ...file, chunks: [chunkOf("apple two")] });
    expect(await textsFor([id], "apple")).toHaveLength(2);
    await removeFile(database, id, file.id);
    await addFile(database, { ...file, chunks: [chunkOf("apple three"), chunkOf("apple four")] });
    expect(new Set(await textsFor([id], "apple"))).toEqual(
      new Set(["an apple", "apple three", "apple four"]),
    );
    await removeFile(database, id, file.id);
    await removeFile(database, id, `file-${serial}-0`);
    expect(await textsFor([id], "apple")).toEqual([]);
  });

  test("is up to date on two replicas at once", async () => {
    const id = await storeWith("an apple");
    const replica = await openStage();
    const question = { storeIds: [id], text: "apple" };
    expect(await replica.ask(question)).toHaveLength(1);
    await addFile(database, {
      storeId: id,
      id: `file-${serial}-x`,
      chunks: [chunkOf("apple two")],
    });
    expect(await replica.ask(question)).toHaveLength(2);
    expect(await stage.ask(question)).toHaveLength(2);
    await replica.retrieval.close?.(1_000);
  });

  test("never finds a file before it is complete", async () => {
    const id = await storeWith("an apple");
    const file = { storeId: id, id: `file-${serial}-x`, chunks: [chunkOf("apple E-99 half")] };
    await addFile(database, { ...file, status: "in_progress" });
    expect(await textsFor([id], "apple E-99")).toEqual(["an apple"]);
    await database.db.execute(
      sql`update vector_store_files set status = 'completed' where file_id = ${file.id}`,
    );
    await raiseVersion(database.db, id);
    expect(await textsFor([id], "apple E-99")).toEqual(["apple E-99 half", "an apple"]);
  });

  test("never mixes generations while a reindex swaps them", async () => {
    const id = await storeWith("old apple");
    const texts = Array.from({ length: 5 }, (_, index) => `new apple ${index}`);
    const file = { storeId: id, id: `file-${serial}-0`, chunks: texts.map(chunkOf) };
    await addFile(database, { ...file, generation: 2 });
    expect(await textsFor([id], "apple")).toEqual(["old apple"]);
    const asked = Array.from({ length: 20 }, () => textsFor([id], "apple"));
    const swapped = database.db.transaction(async (transaction) => {
      await transaction.execute(sql`update vector_stores set generation = 2 where id = ${id}`);
      await transaction.execute(
        sql`delete from chunks where vector_store_id = ${id} and generation = 1`,
      );
      await raiseVersion(transaction, id);
    });
    for (const found of await Promise.all(asked))
      expect(["1 old", "5 new"]).toContain(`${found.length} ${found[0]?.slice(0, 3)}`);
    await swapped;
    expect(await textsFor([id], "apple")).toHaveLength(5);
  });

  test("rejects with the reason of its signal", async () => {
    const id = await storeWith("an apple");
    const ended = AbortSignal.abort(new Error("gone before"));
    await expect(stage.ask({ storeIds: [id], text: "apple", signal: ended })).rejects.toThrow(
      "gone before",
    );
    const controller = new AbortController();
    const slow = await openStage({ embed: () => new Promise(() => undefined) });
    const found = slow.ask({ storeIds: [id], text: "apple", signal: controller.signal });
    controller.abort(new Error("gone meanwhile"));
    await expect(found).rejects.toThrow("gone meanwhile");
    await slow.retrieval.close?.(1_000);
  });

  test("reports a model that no longer fits the store", async () => {
    const id = await storeWith("an apple");
    const own = await openStage({ embed: () => new Float32Array(7) });
    await expect(own.ask({ storeIds: [id], text: "apple" })).rejects.toMatchObject({
      code: "upstream_error",
      message: expect.stringContaining("Reindex"),
    });
    await own.retrieval.close?.(1_000);
  });
});
