import { and, asc, eq, gte, lte, sql } from "drizzle-orm";
import type { Database } from "../../../db/database.ts";
import { chunks } from "../../../db/tables/knowledge.ts";
import type { StoreState } from "../searched-store.ts";
import type { LoadedChunk } from "./memory-thread.ts";

/** What one statement brings, about, so that its answer is read in some milliseconds. */
const PORTION_BYTES = 1024 * 1024;
/** In base64: 8 bytes for each number of a vector, and the words. */
const BYTES_PER_DIMENSION = 11;
const WORDS_BYTES = 2_000;

/** Files between two ids, both included, in the order of the database. */
export interface FileRange {
  readonly first: string;
  readonly last: string;
}

type StoredChunk = Omit<LoadedChunk, "file"> & { readonly fileId: string };

/** Reads the chunks of a range of files, in portions, in the binary form in which the thread takes them. */
export async function* loadChunks(
  { askOwn }: Database,
  { id, generation, dimensions }: StoreState,
  { first, last }: FileRange,
): AsyncGenerator<readonly StoredChunk[]> {
  const limit = Math.max(
    16,
    Math.floor(PORTION_BYTES / (dimensions * BYTES_PER_DIMENSION + WORDS_BYTES)),
  );
  let after = { fileId: first, position: -1 };
  for (;;) {
    const { fileId, position } = after;
    const portion = await askOwn((db) =>
      db
        .select({
          id: chunks.id,
          fileId: chunks.fileId,
          position: chunks.position,
          vector: sql<string>`encode(array_send(${chunks.embedding}), 'base64')`,
          words: sql<string>`encode(tsvectorsend(${chunks.words}), 'base64')`,
        })
        .from(chunks)
        .where(
          and(
            eq(chunks.vectorStoreId, id),
            eq(chunks.generation, generation),
            gte(chunks.fileId, fileId),
            lte(chunks.fileId, last),
            sql`(${chunks.fileId}, ${chunks.position}) > (${fileId}, ${position}::int)`,
          ),
        )
        .orderBy(asc(chunks.fileId), asc(chunks.position))
        .limit(limit),
    );
    yield portion;
    const end = portion.at(-1);
    if (end === undefined || portion.length < limit) return;
    after = end;
  }
}
