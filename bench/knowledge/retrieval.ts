// Measures the search of vector stores: by indexes beside a huge store, and exactly in memory.
// Usage: bun bench/knowledge/retrieval.ts [--quick] [--questions 400], or the same with node --import tsx.
// The whole takes about an hour and 15 GB of disk in the temporary folder, --quick some minutes; both clean up.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { sql } from "drizzle-orm";
import { loadConfig } from "../../src/config/load-config.ts";
import type { AttributeFilter } from "../../src/core/file-search.ts";
import { connect } from "../../src/db/connect.ts";
import type { Database } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { filterSql } from "../../src/knowledge/retrieve/attribute-filter.ts";
import { openRetrieval, type Retrieval } from "../../src/knowledge/retrieve/open-retrieval.ts";
import { createLog } from "../../src/lib/log.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { createRandom } from "../../tests/support/faults/random.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { openEmbeddedInMemory } from "../../tests/support/servers/databases/test-database.ts";
import { fillEmbedded, fillServer, questionVectors } from "./fill-chunks.ts";

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, questions: { type: "string" } },
});
const isQuick = values.quick === true;
const SIZES = isQuick ? [10, 2_000, 55_000] : [10, 10_000, 989_990];
const INDEXED_DIMENSIONS = 384;
const EXACT = { chunks: isQuick ? 5_000 : 50_000, dimensions: 768 };
const TOPICS = isQuick ? 40 : 400;
const QUESTIONS = Number(values.questions ?? TOPICS);
const COMPARED = Math.ceil(QUESTIONS / 8);
const PAUSE_MS = 200;
const WAIT_MS = 60_000;
const HALF = { type: "gte", key: "share", value: 50 } as const;
const QUARTER = { type: "lt", key: "share", value: 25 } as const;
const TENTH = { type: "lt", key: "share", value: 10 } as const;
const HUNDREDTH = { type: "eq", key: "share", value: 7 } as const;
/** Passes nothing near half of the questions. */
const SUBJECTS = { type: "lt", key: "subject", value: 10 } as const;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const random = createRandom(1);
/** Mostly everyday words, as in questions of people. */
const wordAt = () => `w${Math.floor(random() ** 4 * 50_000)}`;
const questionText = (index: number) =>
  `${Array.from({ length: 8 }, wordAt).join(" ")} question${index}`;

interface Case {
  readonly name: string;
  readonly storeId: string;
  readonly filter?: AttributeFilter;
}

async function openSearch(
  database: Database,
  vectors: readonly Float32Array[],
  url?: string,
): Promise<Retrieval> {
  const settings = { ...loadConfig({}).settings, DATABASE_URL: url };
  const base = { settings, database, clock: systemClock, log: createLog("error") };
  const embedQuestion = async (_: string, text: string) =>
    vectors[Number(text.split("question").at(-1)) % vectors.length] as Float32Array;
  return openRetrieval(base, { embedder: { embedQuestion } });
}

async function timeSearches(retrieval: Retrieval, { name, storeId, filter }: Case): Promise<void> {
  const times: number[] = [];
  const lag = watchLag();
  for (let index = 0; index < QUESTIONS; index += 1) {
    const from = performance.now();
    await retrieval.search({
      vectorStoreIds: [storeId],
      text: questionText(index),
      limit: 8,
      minSimilarity: undefined,
      filter,
      signal: new AbortController().signal,
    });
    times.push(performance.now() - from);
    await sleep(Math.max(0, PAUSE_MS - (performance.now() - from)) / (isQuick ? 10 : 1));
  }
  times.sort((one, other) => one - other);
  const at = (share: number) => (times[Math.ceil(share * times.length) - 1] ?? 0).toFixed(1);
  say(
    `${name.padEnd(44)} p50 ${at(0.5).padStart(7)} ms  p95 ${at(0.95).padStart(7)} ms  longest stall ${lag().toFixed(0).padStart(4)} ms`,
  );
}

/** Returns a function that ends the watch and returns by how much a timer was late at most. */
function watchLag(): () => number {
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 5);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return worst;
  };
}

async function measureRecall(
  { db }: Database,
  retrieval: Retrieval,
  vectors: readonly Float32Array[],
  { name, storeId, filter }: Case,
): Promise<void> {
  let found = 0;
  for (let index = 0; index < COMPARED; index += 1) {
    const vector = `[${vectors[index]?.join(",")}]`;
    const exact = await db.execute<{ cosine: number }>(sql`
      select -(embedding::vector <#> ${vector}::vector) as cosine from chunks
      join vector_store_files using (vector_store_id, file_id)
      where vector_store_id = ${storeId} and ${filterSql(sql`attributes`, filter)}
      order by 1 desc limit 8`);
    const passages = await retrieval.search({
      vectorStoreIds: [storeId],
      text: `question${index}`,
      limit: 8,
      minSimilarity: undefined,
      filter,
      signal: new AbortController().signal,
    });
    const least = (exact.at(-1)?.cosine ?? 0) - 1e-4;
    found += passages.filter(({ score }) => score >= least).length / Math.max(1, exact.length);
  }
  say(`${name.padEnd(44)} recall@8 ${(found / COMPARED).toFixed(3)}`);
}

async function measureIndexed(): Promise<void> {
  const cluster = await startPostgresCluster();
  if (cluster === undefined) throw new Error("this needs PostgreSQL");
  const driver = { max: 6, connection: { jit: "off" } };
  const database = connect({ kind: "postgres", url: cluster.url, waitMs: WAIT_MS, driver });
  try {
    await migrate(database);
    // As an administrator sets it who gives the database a machine.
    await database.db.execute(sql`alter role current_user set effective_cache_size = '16GB'`);
    const vectors = questionVectors(random, { count: TOPICS, dimensions: INDEXED_DIMENSIONS });
    const retrieval = await openSearch(database, vectors, cluster.url);
    if (retrieval.jobs?.length === 0) {
      say("This PostgreSQL has no pgvector: searches by indexes are not measured.");
      return;
    }
    let from = performance.now();
    for (const [index, chunks] of SIZES.entries())
      await fillServer(database, { storeId: `vs_${index}`, chunks, vectors });
    await database.db.execute(sql`vacuum analyze`);
    say(`${SIZES.join(" + ")} chunks × ${INDEXED_DIMENSIONS}, filled in ${seconds(from)} s`);
    from = performance.now();
    for (const job of retrieval.jobs ?? []) await job.run();
    say(`indexes built in ${seconds(from)} s`);
    const cases: readonly Case[] = [
      ...SIZES.map((chunks, index) => ({ name: `${chunks} chunks`, storeId: `vs_${index}` })),
      { name: `${SIZES.at(-1)} chunks, a filter of half`, storeId: "vs_2", filter: HALF },
      { name: `${SIZES.at(-1)} chunks, a filter of a quarter`, storeId: "vs_2", filter: QUARTER },
      { name: `${SIZES.at(-1)} chunks, a filter of a tenth`, storeId: "vs_2", filter: TENTH },
      { name: `${SIZES.at(-1)} chunks, a filter of 1%`, storeId: "vs_2", filter: HUNDREDTH },
      { name: `${SIZES.at(-1)} chunks, a tenth by subject`, storeId: "vs_2", filter: SUBJECTS },
    ];
    for (const one of cases) await measureRecall(database, retrieval, vectors, one);
    for (const one of cases) await timeSearches(retrieval, one);
    say("While 200 chunks/s are ingested into the largest store:");
    const end = new AbortController();
    const ingesting = ingest(database, vectors, end.signal);
    for (const one of cases) await timeSearches(retrieval, one);
    end.abort();
    await ingesting;
    await retrieval.close?.(1_000);
  } finally {
    await database.close();
    await cluster.remove();
  }
}

async function ingest(
  database: Database,
  vectors: readonly Float32Array[],
  signal: AbortSignal,
): Promise<void> {
  for (let batch = 0; !signal.aborted; batch += 1) {
    await fillServer(database, {
      storeId: "vs_2",
      chunks: 50,
      vectors,
      firstFile: 1_000_000 + 3 * batch,
    });
    await sleep(250);
  }
}

async function measureExact(): Promise<void> {
  const database = await openEmbeddedInMemory();
  const { chunks, dimensions } = EXACT;
  const vectors = questionVectors(random, { count: TOPICS, dimensions });
  let from = performance.now();
  await fillEmbedded(database, { storeId: "vs_exact", chunks, dimensions, random, wordAt });
  say(`embedded: ${chunks} chunks × ${dimensions}, filled in ${seconds(from)} s`);
  const retrieval = await openSearch(database, vectors);
  const lag = watchLag();
  from = performance.now();
  await retrieval.search({
    vectorStoreIds: ["vs_exact"],
    text: questionText(0),
    limit: 8,
    minSimilarity: undefined,
    signal: new AbortController().signal,
  });
  say(`loaded in ${seconds(from)} s, longest stall ${lag().toFixed(0)} ms`);
  await timeSearches(retrieval, { name: `${chunks} chunks in memory`, storeId: "vs_exact" });
  await retrieval.close?.(1_000);
  await database.close();
}

function seconds(from: number): string {
  return ((performance.now() - from) / 1_000).toFixed(1);
}

await measureIndexed();
await measureExact();
process.exit(0);
