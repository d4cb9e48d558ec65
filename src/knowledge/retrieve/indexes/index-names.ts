import { type SQL, sql } from "drizzle-orm";

/** A store with one of its generations. */
export interface Generation {
  readonly id: string;
  readonly generation: number;
}

/** What the indexes of generations are named by, before the store and the generation. */
export const VECTORS_INDEX = "chunks_vectors_";
export const WORDS_INDEX = "chunks_store_words_";

/** pgvector's limit for an index of `halfvec`. */
export const INDEXED_DIMENSIONS_MAX = 4_000;

export function indexName(
  kind: typeof VECTORS_INDEX | typeof WORDS_INDEX,
  { id, generation }: Generation,
): string {
  return `${kind}${id}_${generation}`;
}

/**
 * The condition of a generation's partial indexes. A statement has it literally: with parameters, the planner may not
 * see that the index fits.
 */
export function ofGeneration({ id, generation }: Generation): SQL {
  const quoted = `'${id.replaceAll("'", "''")}'`;
  return sql.raw(`vector_store_id = ${quoted} and generation = ${Math.trunc(generation)}`);
}

/** What the index of vectors is on: half the size, and near enough to find candidates. */
export function halfVectors(dimensions: number): SQL {
  return sql.raw(`(embedding::halfvec(${Math.trunc(dimensions)}))`);
}
