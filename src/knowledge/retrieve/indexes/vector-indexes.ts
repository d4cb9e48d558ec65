import { sql } from "drizzle-orm";
import type { Settings } from "../../../config/settings.ts";
import { connect } from "../../../db/connect.ts";
import type { Db } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { toDatabaseError } from "../../../db/database-error.ts";
import { ADVISORY_LOCK } from "../../../db/locks/advisory-locks.ts";
import type { Log } from "../../../lib/log.ts";
import { memoryNeeded } from "../memory/memory-stores.ts";
import {
  type Generation,
  halfVectors,
  INDEXED_DIMENSIONS_MAX,
  indexName,
  ofGeneration,
  VECTORS_INDEX,
  WORDS_INDEX,
} from "./index-names.ts";

/** A store with more chunks gets indexes of its own; it keeps them until it has half as many. */
const EXACT_CHUNKS_MAX = 50_000;
const OLDEST_VERSION = [0, 8] as const;
/** An index that does not fit into the memory of its build is finished on disk, many times slower. */
const BUILD_BYTES_MIN = 256 * 1024 * 1024;
const BUILD_MEMORY_MIN = `${BUILD_BYTES_MIN / 1024}kB`;
/**
 * Neighbours that are considered for each chunk. With pgvector's 64, a million chunks were found with a recall of 0.958,
 * however wide the scan; with these 0.971, for twice the time of the build.
 */
const EF_CONSTRUCTION = 128;
/** What a chunk takes there besides its vector: its neighbours. */
const BUILD_BYTES_A_CHUNK = 1_700;
/** Memory or shared memory was refused: containers often have 64 MB of the latter, which only parallel builds take. */
const OUT_OF_MEMORY = new Set(["53100", "53200"]);

/** Tries to make pgvector available. Returns whether this database has a version of it that can be used. */
export async function enablePgvector({ db }: Database, log: Log): Promise<boolean> {
  // Another replica may create it at the same moment, so that only its presence counts.
  const failure = await db.execute(sql`create extension if not exists vector`).then(
    () => undefined,
    (thrown: unknown) => toDatabaseError(thrown).code,
  );
  const [row] = await db.execute<{ version: string }>(
    sql`select extversion as version from pg_extension where extname = 'vector'`,
  );
  if (row === undefined) {
    log.info({ code: failure }, "pgvector is not available: vector stores are searched in memory");
    return false;
  }
  const [major = 0, minor = 0] = row.version.split(".").map(Number);
  const isUsable = major > OLDEST_VERSION[0] || minor >= OLDEST_VERSION[1];
  if (!isUsable)
    log.info(
      { version: row.version },
      "pgvector is older than 0.8: vector stores are searched in memory",
    );
  return isUsable;
}

export interface IndexOptions {
  readonly database: Database;
  readonly settings: Pick<Settings, "DATABASE_URL" | "DB_POOL_WAIT_MS">;
  /** RAG_MEMORY_MB in bytes. */
  readonly memoryBytes: number;
  /** Defaults to EXACT_CHUNKS_MAX. */
  readonly exactChunksMax?: number;
  readonly log: Log;
}

/** Builds the indexes that are missing and drops those that are not wanted. One replica at a time does so. */
export async function keepVectorIndexes(options: IndexOptions): Promise<void> {
  const { database, settings } = options;
  if (database.kind === "embedded") return keepUnderLock(database.db, options);
  // A connection of its own, because a build may take an hour.
  const { DATABASE_URL: url, DB_POOL_WAIT_MS: waitMs } = settings;
  const connection = {
    ...{ statement_timeout: 0, lock_timeout: 0 },
    maintenance_work_mem: BUILD_MEMORY_MIN,
  };
  const own = connect({ kind: "postgres", url, waitMs, driver: { max: 1, connection } });
  try {
    await keepUnderLock(own.db, options);
  } finally {
    await own.close();
  }
}

async function keepUnderLock(db: Db, options: IndexOptions): Promise<void> {
  const [row] = await db.execute<{ locked: boolean }>(
    sql`select pg_try_advisory_lock(${ADVISORY_LOCK.vectorIndexes}::bigint) as locked`,
  );
  if (row?.locked !== true) return;
  try {
    await keepIndexes(db, options);
  } finally {
    await db
      .execute(sql`select pg_advisory_unlock(${ADVISORY_LOCK.vectorIndexes}::bigint)`)
      .catch(() => undefined);
  }
}

async function keepIndexes(db: Db, options: IndexOptions): Promise<void> {
  const { log } = options;
  const generations = await listGenerations(db, options);
  const kept = new Set(generations.filter(({ isKept }) => isKept).flatMap(namesOf));
  const existing = await listIndexes(db);
  const valid = new Set<string>();
  for (const { name, isValid } of existing) {
    // Under the lock nobody builds: an invalid one is what a crash left.
    if (isValid && kept.has(name)) valid.add(name);
    else await db.execute(sql`drop index concurrently if exists ${sql.identifier(name)}`);
  }
  for (const generation of generations.filter(({ isWanted }) => isWanted)) {
    const { id } = generation;
    const [words = "", vectors = ""] = namesOf(generation);
    // The index of vectors comes last: its presence says that both are there.
    if (valid.has(vectors) && valid.has(words)) continue;
    const from = performance.now();
    const where = ofGeneration(generation);
    log.info(
      { vectorStoreId: id },
      "indexing a large vector store; its search is exact until then",
    );
    if (!valid.has(words))
      await db.execute(
        sql`create index concurrently ${sql.identifier(words)} on chunks using gin (words) where ${where}`,
      );
    if (!valid.has(vectors)) await buildVectors(db, generation, { name: vectors, ...options });
    const seconds = Math.round((performance.now() - from) / 1_000);
    log.info({ vectorStoreId: id, seconds }, "the vector store is indexed");
  }
}

interface BuiltIndex extends Pick<IndexOptions, "database" | "log"> {
  readonly name: string;
}

/** Builds an index of vectors in several processes and in as much memory as it needs, or with less of both. */
async function buildVectors(
  db: Db,
  generation: SizedGeneration,
  { name, database, log }: BuiltIndex,
): Promise<void> {
  const { dimensions } = generation;
  const index = sql.identifier(name);
  const build = () =>
    db.execute(sql`create index concurrently ${index} on chunks
      using hnsw (${halfVectors(dimensions)} halfvec_ip_ops)
      with (ef_construction = ${sql.raw(String(EF_CONSTRUCTION))}) where ${ofGeneration(generation)}`);
  if (database.kind === "embedded") return void (await build());
  try {
    await setBuildMemory(db, generation);
    await build();
  } catch (thrown) {
    const { code } = toDatabaseError(thrown);
    if (!OUT_OF_MEMORY.has(code)) throw thrown;
    log.warn(
      { code },
      "the database has too little memory to build an index fast; building it slowly",
    );
    await db.execute(sql`drop index concurrently if exists ${index}`);
    await db.execute(sql`select set_config('maintenance_work_mem', ${BUILD_MEMORY_MIN}, false),
      set_config('max_parallel_maintenance_workers', '0', false)`);
    await build();
  }
}

/** What the index needs, and at most a quarter of what the database's administrator says it has for caching. */
async function setBuildMemory(db: Db, generation: SizedGeneration): Promise<void> {
  const aChunk = BUILD_BYTES_A_CHUNK + 2 * generation.dimensions;
  await db.execute(sql`
    select set_config('maintenance_work_mem', (least(
        greatest(count(*) * ${aChunk}::bigint, ${BUILD_BYTES_MIN}::bigint),
        greatest(pg_size_bytes(current_setting('effective_cache_size')) / 4, ${BUILD_BYTES_MIN}::bigint)
      ) / 1024) || 'kB', false)
    from chunks where ${ofGeneration(generation)}`);
}

function namesOf(generation: Generation): readonly [words: string, vectors: string] {
  return [indexName(WORDS_INDEX, generation), indexName(VECTORS_INDEX, generation)];
}

interface SizedGeneration extends Generation {
  readonly dimensions: number;
  readonly isWanted: boolean;
  readonly isKept: boolean;
}

/** All generations that are searched or being built. */
async function listGenerations(
  db: Db,
  { exactChunksMax = EXACT_CHUNKS_MAX, memoryBytes }: IndexOptions,
): Promise<readonly SizedGeneration[]> {
  const rows = await db.execute<{
    id: string;
    generation: number;
    dimensions: number;
    chunks: number;
  }>(sql`
    select id, generation,
      coalesce((select array_length(embedding, 1) from chunks
        where vector_store_id = stored.id and chunks.generation = stored.generation limit 1), 0) as dimensions,
      (select count(*)::int from (select 1 from chunks
        where vector_store_id = stored.id and chunks.generation = stored.generation
        limit ${exactChunksMax + 1}) as counted) as chunks
    from (select id, generation from vector_stores
      union select id, next_generation from vector_stores where next_generation is not null) as stored`);
  return rows.map(({ id, generation, dimensions, chunks }) => {
    const canBe = dimensions > 0 && dimensions <= INDEXED_DIMENSIONS_MAX;
    const isOutgrown = memoryNeeded(chunks, dimensions) > memoryBytes;
    return {
      id,
      generation,
      dimensions,
      isWanted: canBe && (chunks > exactChunksMax || isOutgrown),
      isKept: canBe && (chunks > exactChunksMax / 2 || isOutgrown),
    };
  });
}

async function listIndexes(
  db: Db,
): Promise<readonly { readonly name: string; readonly isValid: boolean }[]> {
  const rows = await db.execute<{ name: string; isValid: boolean }>(sql`
    select relname as name, indisvalid as "isValid" from pg_index
    join pg_class on pg_class.oid = indexrelid
    where indrelid = 'chunks'::regclass
      and (starts_with(relname, ${VECTORS_INDEX}) or starts_with(relname, ${WORDS_INDEX}))`);
  return [...rows];
}
