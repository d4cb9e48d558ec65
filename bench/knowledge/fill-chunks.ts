import { sql } from "drizzle-orm";
import type { Db } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { nearVector, randomVector } from "../../tests/support/stages/knowledge/retrieval-stage.ts";

const CHUNKS_PER_FILE = 20;
const INSERTED_AT_ONCE = 20_000;
const EMBEDDED_AT_ONCE = 100;
const NOISES = 2_000;
/** As far from its topic as a passage is from its question. */
const SPREAD = 0.8;

interface Vectors {
  readonly count: number;
  readonly dimensions: number;
}

export function questionVectors(
  random: () => number,
  { count, dimensions }: Vectors,
): readonly Float32Array[] {
  return Array.from({ length: count }, () => randomVector(random, dimensions));
}

export interface Fill {
  readonly storeId: string;
  readonly chunks: number;
  /** Each chunk is near one of them. */
  readonly vectors: readonly Float32Array[];
  /** The number of its first file; a new store has 0. */
  readonly firstFile?: number;
}

/**
 * Fills a store where the database has pgvector, which makes the vectors itself: chunks of 60 words near topics. Two noises
 * on a topic make each vector another one: an index of equal ones finds nothing beside them. Of their files' attributes
 * `share` (0 to 99) says nothing of the topics, and `subject` (0 to 99) does: a file has 20 topics, by its subject.
 */
export async function fillServer({ db }: Database, fill: Fill): Promise<void> {
  const { storeId, chunks, vectors, firstFile = 0 } = fill;
  if (firstFile === 0) {
    await makeTopics(db, vectors);
    await db.execute(sql`insert into vector_stores (id, name, embedding_model, dimensions)
      values (${storeId}, ${storeId}, 'bench', ${vectors[0]?.length ?? 0})`);
  }
  const files = Math.ceil(chunks / CHUNKS_PER_FILE);
  const ids = sql`select file, ${storeId} || '-' || file as id
    from generate_series(${firstFile}::int, ${firstFile + files - 1}::int) as file`;
  await db.execute(sql`insert into files (id, filename, purpose, bytes, sha256)
    select id, id, 'assistants', 1, id from (${ids}) as made`);
  await db.execute(sql`
    insert into vector_store_files (vector_store_id, file_id, status, attributes, chunks_done, chunks_total)
    select ${storeId}, id, 'completed',
      jsonb_build_object('share', abs(hashint4(file)::bigint) % 100, 'subject', file % 100),
      ${CHUNKS_PER_FILE}::int, ${CHUNKS_PER_FILE}::int from (${ids}) as made`);
  for (let from = 0; from < chunks; from += INSERTED_AT_ONCE) {
    const to = Math.min(chunks, from + INSERTED_AT_ONCE);
    await db.execute(sql`
      insert into chunks (vector_store_id, generation, file_id, position, text, embedding, words)
      select ${storeId}, 1, ${storeId} || '-' || (${firstFile}::int + chunk / ${CHUNKS_PER_FILE}::int),
        chunk % ${CHUNKS_PER_FILE}::int, repeat('A passage. ', 40),
        l2_normalize(topic.vector + noise.vector + other.vector)::real[],
        (select array_to_tsvector(array_agg(distinct 'w' || floor(power(random(), 4) * 50000)))
          from generate_series(1, 60) where chunk >= 0)
      from generate_series(${from}::bigint, ${to - 1}::bigint) as chunk
      join bench_topics as topic on topic.id = (chunk * 7919) % ${vectors.length}::int
      join bench_noises as noise on noise.id = (chunk * 31) % ${NOISES}::int
      join bench_noises as other on other.id = (chunk / ${NOISES}::int) % ${NOISES}::int`);
  }
  await db.execute(sql`update vector_stores set version = version + 1 where id = ${storeId}`);
}

async function makeTopics(db: Db, vectors: readonly Float32Array[]): Promise<void> {
  const dimensions = vectors[0]?.length ?? 0;
  await db.execute(
    sql`create table if not exists bench_topics (id int primary key, vector vector)`,
  );
  await db.execute(
    sql`create table if not exists bench_noises (id int primary key, vector vector)`,
  );
  for (const [id, vector] of vectors.entries())
    await db.execute(sql`insert into bench_topics values (${id}, ${`[${vector.join(",")}]`}::vector)
      on conflict do nothing`);
  const amplitude = (SPREAD * Math.sqrt(12)) / Math.sqrt(2 * dimensions);
  await db.execute(sql`
    insert into bench_noises select id,
      (select array_agg((random() - 0.5) * ${amplitude}::float8)
        from generate_series(1, ${dimensions}::int) where id >= 0)::vector
    from generate_series(0, ${NOISES - 1}::int) as id on conflict do nothing`);
}

export interface EmbeddedFill extends Omit<Fill, "vectors"> {
  readonly dimensions: number;
  readonly random: () => number;
  readonly wordAt: () => string;
}

/** Fills a store of the embedded database, from here. */
export async function fillEmbedded({ db }: Database, fill: EmbeddedFill): Promise<void> {
  const { storeId, chunks, dimensions, random, wordAt } = fill;
  await db.execute(sql`insert into vector_stores (id, name, embedding_model, dimensions)
    values (${storeId}, ${storeId}, 'bench', ${dimensions})`);
  await db.execute(sql`insert into files (id, filename, purpose, bytes, sha256)
    values ('file', 'file', 'assistants', 1, 'file')`);
  await db.execute(sql`
    insert into vector_store_files (vector_store_id, file_id, status, chunks_done, chunks_total)
    values (${storeId}, 'file', 'completed', ${chunks}, ${chunks})`);
  const topic = randomVector(random, dimensions);
  for (let from = 0; from < chunks; from += EMBEDDED_AT_ONCE) {
    const rows = Array.from({ length: Math.min(EMBEDDED_AT_ONCE, chunks - from) }, (_, index) => {
      const words = new Set(Array.from({ length: 60 }, wordAt));
      const vector = nearVector(random, topic, 3);
      return sql`(${storeId}, 1, 'file', ${from + index}, 'A passage.', ${`{${vector.join(",")}}`}::real[],
        ${[...words].join(" ")}::tsvector)`;
    });
    await db.execute(sql`
      insert into chunks (vector_store_id, generation, file_id, position, text, embedding, words)
      values ${sql.join(rows, sql`, `)}`);
  }
}
