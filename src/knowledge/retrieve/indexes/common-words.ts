import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { StoreState } from "../searched-store.ts";
import { ofGeneration } from "./index-names.ts";

/** A fiftieth of the chunks within these bounds: a word's count costs a visit to each chunk that has it. */
const SAMPLE_CHUNKS_MIN = 2_000;
const SAMPLE_CHUNKS_MAX = 20_000;
const SAMPLE_SHARE = 0.02;
/** Words of fewer chunks of the sample are counted exactly. */
const COMMON_MIN_CHUNKS = 8;

/** Words that are in so many chunks of a store that a search by them would read much and find nothing. */
export interface CommonWords {
  /** Chunks of the store. */
  readonly chunks: number;
  /** The share of the chunks that each of them is in. */
  readonly shares: ReadonlyMap<string, number>;
}

/** Takes some pages of the table, a few hundred milliseconds' worth however large the store is. */
export async function sampleCommonWords(db: Db, store: StoreState): Promise<CommonWords> {
  const [row] = await db.execute<{ chunks: number; total: number }>(sql`
    select coalesce(sum(coalesce(chunks_total, chunks_done)), 0)::int as chunks,
      (select greatest(reltuples, 0)::float8 from pg_class where oid = 'chunks'::regclass) as total
    from vector_store_files where vector_store_id = ${store.id} and status = 'completed'`);
  const { chunks = 0, total = 0 } = row ?? {};
  const all = Math.max(chunks, total, 1);
  const wanted = Math.min(SAMPLE_CHUNKS_MAX, Math.max(SAMPLE_CHUNKS_MIN, all * SAMPLE_SHARE));
  const percent = Math.min(100, (100 * wanted) / all);
  const rows = await db.execute<{ word: string; chunks: number; sampled: number }>(sql`
    with sample as materialized (
      select words from chunks tablesample system (${percent}) repeatable (1) where ${ofGeneration(store)})
    select lexeme as word, count(*)::int as chunks, (select count(*) from sample)::int as sampled
    from sample, unnest(sample.words) group by lexeme having count(*) >= ${COMMON_MIN_CHUNKS}`);
  // Of a handful of chunks nothing follows.
  const reliable = rows.filter(({ sampled }) => sampled >= SAMPLE_CHUNKS_MIN / 10);
  return {
    chunks,
    shares: new Map(reliable.map((word) => [word.word, word.chunks / word.sampled])),
  };
}
