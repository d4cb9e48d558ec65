import { setImmediate as nextTurn } from "node:timers/promises";
import { type SQL, sql } from "drizzle-orm";
import { chunks } from "../../../db/tables/knowledge.ts";
import { tsvectorOf } from "../../retrieve/words.ts";
import type { IngestionTarget } from "../ingestion-target.ts";
import type { Chunk } from "./split-chunks.ts";

/** Chunks that are written as text before other work gets its turn: a stream must not wait for a whole batch. */
const CHUNKS_A_TURN = 4;
/**
 * Vectors are sent in whole numbers of this part of 1: PostgreSQL reads them many times faster than fractions, most of
 * all the embedded one. A number of a vector of length 1 fits into 4 bytes so, with more digits than it has.
 */
const PARTS = 1e9;

/** A piece of a file, with the text that stands for it in a search. */
export interface EmbeddedChunk extends Chunk {
  /** The text with the file's name and the headings: it is embedded, and its words are indexed. */
  readonly embedded: string;
}

export interface NewChunks {
  readonly batch: readonly EmbeddedChunk[];
  /** One a chunk, all of the same length, which is 1 as a distance. */
  readonly vectors: readonly Float32Array[];
  /** The place of the first chunk in the file. */
  readonly first: number;
}

/** Writes the statement that inserts chunks, with one parameter a column; chunks that are stored already are kept. */
export async function insertionOf(
  { vectorStoreId, generation, fileId }: IngestionTarget,
  { batch, vectors, first }: NewChunks,
): Promise<SQL> {
  const words: string[] = [];
  const numbers: string[] = [];
  for (const [index, { embedded }] of batch.entries()) {
    if (index % CHUNKS_A_TURN === CHUNKS_A_TURN - 1) await nextTurn();
    words.push(tsvectorOf(embedded));
    numbers.push(wholeNumbers(vectors[index] ?? new Float32Array()));
  }
  const texts = arrayOf(batch.map(({ text }) => text));
  const headings = arrayOf(batch.map(({ heading }) => heading));
  const pages = arrayOf(batch.map(({ page }) => page));
  const sheets = arrayOf(batch.map(({ sheet }) => sheet));
  const length = sql`${vectors[0]?.length ?? 0}::int`;
  return sql`
    insert into ${chunks}
      (vector_store_id, generation, file_id, position, text, heading, page, sheet, embedding, words)
    select ${vectorStoreId}, ${generation}::int, ${fileId}, ${first}::int + number::int - 1, text, heading, page, sheet,
      array(
        select part::real / ${PARTS}::real
        from unnest(vectors.parts[(number - 1) * ${length} + 1 : number * ${length}]) as part
      ),
      words::tsvector
    from (select ${`{${numbers.join(",")}}`}::int[] as parts offset 0) as vectors, unnest(
      ${texts}::text[], ${headings}::text[], ${pages}::int[], ${sheets}::text[], ${arrayOf(words)}::text[]
    ) with ordinality as chunk (text, heading, page, sheet, words, number)
    on conflict do nothing`;
}

/** Counts instead of iterating: iterators take several times as long, and a vector has a thousand numbers. */
function wholeNumbers(vector: Float32Array): string {
  const numbers = new Array<number>(vector.length);
  for (let index = 0; index < vector.length; index += 1)
    numbers[index] = Math.round((vector[index] ?? 0) * PARTS);
  return numbers.join(",");
}

/** PostgreSQL's text of an array. */
function arrayOf(values: readonly (string | number | null)[]): string {
  const written = values.map((value) =>
    typeof value === "string" ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : (value ?? "null"),
  );
  return `{${written.join(",")}}`;
}
