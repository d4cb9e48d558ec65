import { type SQL, sql } from "drizzle-orm";
import type { AttributeFilter } from "../../../core/file-search.ts";
import { filterSql } from "../attribute-filter.ts";
import type { StoreQuestion, WeightedWord } from "../searched-store.ts";
import { tsqueryOf } from "../words.ts";
import { type Generation, halfVectors, ofGeneration } from "./index-names.ts";

/** Candidates that a scan of the vectors' index keeps; with a filter, which passes only a part of them, as many as it can. */
const EF_SEARCH = 400;
const FILTERED_EF_SEARCH = 1_000;
/** How many it visits for those that pass a filter. */
const SCAN_TUPLES_MAX = 20_000;
/** Words are counted up to here. */
export const COUNT_MAX = 2_000;
/** Chunks that are ranked by words, at most as they were counted, and at most as they are found. */
export const RANKED_MAX = 2_000;
const FOUND_MAX = 2 * RANKED_MAX;

/** The settings of the scans below, for their transaction. The planner would sort small stores instead. */
export function scanSettings(filter: AttributeFilter | undefined): SQL {
  const candidates = filter === undefined ? EF_SEARCH : FILTERED_EF_SEARCH;
  return sql`
    select set_config('hnsw.ef_search', ${String(candidates)}, true),
      set_config('hnsw.iterative_scan', 'relaxed_order', true),
      set_config('hnsw.max_scan_tuples', ${String(SCAN_TUPLES_MAX)}, true),
      set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)`;
}

/** A generation with the length of its vectors. */
interface VectorGeneration extends Generation {
  readonly dimensions: number;
}

type Nearest = Pick<StoreQuestion, "vector" | "filter" | "limit">;

/** The nearest chunks by the index of vectors. */
export function nearestSql(store: VectorGeneration, { vector, filter, limit }: Nearest): SQL {
  const text = vectorText(vector);
  const type = sql.raw(`halfvec(${store.dimensions})`);
  return withCosine(
    text,
    sql`select id, embedding from chunks
      where ${ofGeneration(store)} and (${isFound(store, filter)})
      order by ${halfVectors(store.dimensions)} <#> ${text}::${type} limit ${limit}`,
  );
}

/** The nearest chunks of the files that pass, each of which is compared. */
export function nearestOfFewSql(store: Generation, { vector, filter, limit }: Nearest): SQL {
  const text = vectorText(vector);
  return withCosine(
    text,
    sql`select id, embedding from chunks
      where ${ofGeneration(store)} and file_id = any(array(
        select file_id from vector_store_files where ${isPassing(store, filter)}))
      order by embedding::vector <#> ${text}::vector limit ${limit}`,
  );
}

/** The number of chunks, about, whose files pass. */
export function passingSql(store: Generation, filter: AttributeFilter | undefined): SQL {
  return sql`select coalesce(sum(coalesce(chunks_total, chunks_done)), 0)::float8 as chunks
    from vector_store_files where ${isPassing(store, filter)}`;
}

/** Of each word: the number of chunks that hold it, up to a limit. */
export function countSql(store: Generation, words: readonly string[]): SQL {
  const counts = words.map(
    (word) => sql`(select count(*) from (
      select 1 from chunks where ${ofGeneration(store)} and words @@ ${tsqueryOf([word])}::tsquery
      limit ${COUNT_MAX + 1}) as counted)`,
  );
  return sql`select array_to_json(array[${sql.join(counts, sql`, `)}]) as counts`;
}

/** What a search by words looks for. */
export interface RankedWords {
  readonly words: readonly WeightedWord[];
  /** Those of the words that choose candidates; the others only weigh. */
  readonly choosing: readonly WeightedWord[];
  /** The filter passes few chunks: then each candidate passes it, however far off the counts of the words are. */
  readonly isOfFew: boolean;
}

/** The chunks with the heaviest words. */
export function wordedSql(
  store: Generation,
  { vector, filter, limit }: Nearest,
  { words, choosing, isOfFew }: RankedWords,
): SQL {
  const codes = words.filter(({ isCode }) => isCode).map(({ word }) => word);
  const any = tsqueryOf(choosing.map(({ word }) => word));
  const score = words.map(
    ({ word, weight }) =>
      sql`case when words @@ ${tsqueryOf([word])}::tsquery then ${weight}::float8 else 0 end`,
  );
  const text = vectorText(vector);
  const passes = isOfFew ? sql`and (${isFound(store, filter)})` : sql``;
  // Otherwise the files of the best chunks only are looked up, until enough pass: "offset 0" keeps the steps in this order.
  return sql`
    select id, score as words, "hasCode", (select -(embedding::vector <#> ${text}::vector) from chunks
        where id = found.id) as cosine
    from (
      select id, score, "hasCode" from (
        select id, file_id, ${sql.join(score, sql` + `)} as score,
          words @@ ${tsqueryOf(codes)}::tsquery as "hasCode"
        from (select id, file_id, words from chunks
          where ${ofGeneration(store)} and words @@ ${any}::tsquery ${passes} limit ${FOUND_MAX}) as chunks
        order by score desc offset 0) as chunks
      where (${isFound(store, filter)}) limit ${limit}) as found`;
}

/** With the cosine of the whole vectors: the index has only halves of their digits. */
function withCosine(vector: string, found: SQL): SQL {
  return sql`select id, -(embedding::vector <#> ${vector}::vector) as cosine from (${found}) as found`;
}

/** Whether the chunk's file is completed and passes; a scalar, so that the planner keeps the order of the index. */
function isFound(store: Generation, filter: AttributeFilter | undefined): SQL {
  return sql`select true from vector_store_files
    where ${isPassing(store, filter)} and file_id = chunks.file_id`;
}

function isPassing({ id }: Generation, filter: AttributeFilter | undefined): SQL {
  const attributes = sql`vector_store_files.attributes`;
  return sql`vector_store_files.vector_store_id = ${id} and status = 'completed'
    and ${filterSql(attributes, filter)}`;
}

function vectorText(vector: Float32Array): string {
  return `[${vector.join(",")}]`;
}
