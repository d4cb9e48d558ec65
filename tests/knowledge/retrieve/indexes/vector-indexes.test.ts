import { type SQL, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttributeFilter } from "../../../../src/core/file-search.ts";
import type { Database } from "../../../../src/db/database.ts";
import { passesFilter } from "../../../../src/knowledge/retrieve/attribute-filter.ts";
import {
  countSql,
  nearestSql,
  scanSettings,
} from "../../../../src/knowledge/retrieve/indexes/index-scans.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { trialSize } from "../../../support/faults/trial-size.ts";
import { openPgvectorDatabase } from "../../../support/servers/databases/pgvector-database.ts";
import {
  addFile,
  addStore,
  nearVector,
  openRetrievalStage,
  type RetrievalStage,
  randomVector,
} from "../../../support/stages/knowledge/retrieval-stage.ts";

const DIMENSIONS = 384;
/** The full size takes minutes where WebAssembly builds the index. */
const CHUNKS = trialSize(1_000, 20_000);
const TIME_LIMIT_MS = trialSize(120_000, 1_800_000);
const FILES = 50;
const TOPICS = 100;
const QUESTIONS = 40;
const STORE = "vs_many";
const random = createRandom(11);
const topics = Array.from({ length: TOPICS }, () => randomVector(random, DIMENSIONS));
const topicAt = (index: number) => topics[index % TOPICS] as Float32Array;

let database: Database;
let stage: RetrievalStage;
/** All vectors, with the number of their file. */
const vectors: { readonly vector: Float32Array; readonly file: number; readonly text: string }[] =
  [];
const questions = Array.from({ length: QUESTIONS }, (_, index) =>
  nearVector(random, topicAt(index * 7), 0.8),
);

beforeAll(async () => {
  database = await openPgvectorDatabase();
  await addStore(database, STORE, DIMENSIONS);
  const perFile = CHUNKS / FILES;
  for (let file = 0; file < FILES; file += 1) {
    const chunks = Array.from({ length: perFile }, (_, index) => ({
      text: `chunk ${file} ${index}`,
      vector: nearVector(random, topicAt(file * perFile + index), 0.8),
    }));
    vectors.push(...chunks.map((chunk) => ({ ...chunk, file })));
    await addFile(database, { storeId: STORE, id: `file-${file}`, attributes: { file }, chunks });
  }
  stage = await openRetrievalStage({
    database,
    exactChunksMax: CHUNKS / 2,
    embed: (text) => questions[Number(text)] as Float32Array,
  });
  await stage.keepIndexes();
}, TIME_LIMIT_MS);

afterAll(async () => {
  await stage.retrieval.close?.(1_000);
  await database.close();
});

/** All vectors by question, nearest first: compared once, for every filter asks the same questions. */
const ranked = new Map<Float32Array, readonly RankedVector[]>();

interface RankedVector {
  readonly text: string;
  readonly file: number;
  readonly product: number;
}

function rank(question: Float32Array): readonly RankedVector[] {
  const known = ranked.get(question);
  if (known !== undefined) return known;
  const all = vectors
    .map(({ text, file, vector }) => ({ text, file, product: innerProduct(question, vector) }))
    .sort((one, other) => other.product - one.product);
  ranked.set(question, all);
  return all;
}

/** What a comparison with all vectors gives. */
function nearestEight(question: Float32Array, filter: AttributeFilter | undefined) {
  return rank(question)
    .filter(({ file }) => passesFilter({ file }, filter))
    .slice(0, 8);
}

/** The share of the nearest eight that the search finds, from 0 to 1. */
async function recall(filter?: AttributeFilter): Promise<number> {
  let found = 0;
  for (const [index, question] of questions.entries()) {
    const expected = nearestEight(question, filter).map(({ text }) => text);
    const passages = await stage.ask({
      storeIds: [STORE],
      // No chunk has it, so that words say nothing.
      text: String(index),
      limit: 50,
      ...(filter !== undefined && { filter }),
    });
    const nearest = [...passages].sort((one, other) => other.score - one.score).slice(0, 8);
    found += nearest.filter(({ text }) => expected.includes(text)).length / expected.length;
  }
  return found / questions.length;
}

async function indexNames(): Promise<readonly string[]> {
  const rows = await database.db.execute<{ name: string }>(sql`
    select indexname as name from pg_indexes where tablename = 'chunks' and indexname like '%vs_%' order by 1`);
  return rows.map(({ name }) => name);
}

describe("A large store", { timeout: TIME_LIMIT_MS }, () => {
  test("has its own indexes, which are built once", async () => {
    const names = ["chunks_store_words_vs_many_1", "chunks_vectors_vs_many_1"];
    expect(await indexNames()).toEqual(names);
    await stage.keepIndexes();
    expect(await indexNames()).toEqual(names);
  });

  test("gives at least 95% of the nearest eight, with and without filters", async () => {
    expect(await recall()).toBeGreaterThanOrEqual(0.95);
    for (const least of [FILES / 2, FILES * 0.9, FILES - 1])
      expect(await recall({ type: "gte", key: "file", value: least })).toBeGreaterThanOrEqual(0.95);
  });

  test("is searched by its indexes, with and without a filter of many files", async () => {
    const state = { id: STORE, generation: 1, dimensions: DIMENSIONS };
    const filter = { type: "gte", key: "file", value: 1 } as const;
    for (const filters of [undefined, filter]) {
      const plan = await explain(
        nearestSql(state, { vector: topicAt(0), limit: 50, filter: filters }),
        filters,
      );
      expect(plan).toContain("chunks_vectors_vs_many_1");
      expect(plan).not.toContain("Sort Key: ((chunks.embedding)");
    }
    await database.db.execute(sql`analyze chunks`);
    const plan = await explain(countSql(state, ["absent"]));
    expect(plan).toContain("chunks_store_words_vs_many_1");
  });

  test("gives them by its index with a filter, too", async () => {
    const state = { id: STORE, generation: 1, dimensions: DIMENSIONS };
    const filter = { type: "gte", key: "file", value: FILES / 2 } as const;
    let found = 0;
    for (const vector of questions) {
      const expected = nearestEight(vector, filter);
      const rows = await scan(nearestSql(state, { vector, limit: 50, filter }), filter);
      const scores = rows.map((row) => Number(row["cosine"])).sort((one, other) => other - one);
      const least = scores[7] ?? 0;
      found += expected.filter(({ product }) => product >= least - 1e-5).length / 8;
    }
    expect(found / questions.length).toBeGreaterThanOrEqual(0.95);
  });

  test("replaces an index that a crash left incomplete", async () => {
    await database.db.execute(sql`
      update pg_index set indisvalid = false where indexrelid = 'chunks_vectors_vs_many_1'::regclass`);
    expect(await recall()).toBeGreaterThanOrEqual(0.95);
    await stage.keepIndexes();
    const [row] = await database.db.execute<{ valid: boolean }>(sql`
      select indisvalid as valid from pg_index where indexrelid = 'chunks_vectors_vs_many_1'::regclass`);
    expect(row?.valid).toBe(true);
  });

  test("has its next generation indexed before the swap, and loses the old one's indexes after it", async () => {
    await addStore(database, "vs_next", DIMENSIONS);
    await database.db.execute(sql`
      update vector_stores set generation = 0, next_generation = 1 where id in ('vs_next', ${STORE})`);
    await stage.keepIndexes();
    expect(await indexNames()).toContain("chunks_vectors_vs_many_1");
    await database.db.execute(sql`
      update vector_stores set generation = 2, next_generation = null where id = ${STORE}`);
    await stage.keepIndexes();
    expect(await indexNames()).toEqual([]);
  });
});

function scan(
  statement: SQL,
  filter?: AttributeFilter,
): Promise<readonly Record<string, unknown>[]> {
  return database.db.transaction(async (transaction) => {
    await transaction.execute(scanSettings(filter));
    return [...(await transaction.execute(statement))];
  });
}

async function explain(statement: SQL, filter?: AttributeFilter): Promise<string> {
  const rows = await scan(sql`explain ${statement}`, filter);
  return rows.map((row) => String(row["QUERY PLAN"])).join("\n");
}

function innerProduct(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
