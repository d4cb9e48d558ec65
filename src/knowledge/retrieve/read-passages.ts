import { and, eq, inArray } from "drizzle-orm";
import type { Database } from "../../db/database.ts";
import { chunks, files, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import type { RankedChunk } from "./fuse-ranks.ts";
import type { Passage } from "./passage.ts";

/**
 * Reads chunks as passages, in the given order. Those that cannot be found any more are left out: of files that were
 * removed or are not complete, and of another generation than the one that is searched.
 */
export async function readPassages(
  database: Database,
  ranked: readonly RankedChunk[],
): Promise<readonly Passage[]> {
  if (ranked.length === 0) return [];
  const ids = ranked.map(({ id }) => id);
  const inStore = and(
    eq(vectorStores.id, chunks.vectorStoreId),
    eq(vectorStores.generation, chunks.generation),
  );
  const ofFile = and(
    eq(vectorStoreFiles.vectorStoreId, chunks.vectorStoreId),
    eq(vectorStoreFiles.fileId, chunks.fileId),
    eq(vectorStoreFiles.status, "completed"),
  );
  const rows = await database.ask((db) =>
    db
      .select({
        id: chunks.id,
        vectorStoreId: chunks.vectorStoreId,
        fileId: chunks.fileId,
        filename: files.filename,
        attributes: vectorStoreFiles.attributes,
        page: chunks.page,
        sheet: chunks.sheet,
        heading: chunks.heading,
        text: chunks.text,
      })
      .from(chunks)
      .innerJoin(vectorStores, inStore)
      .innerJoin(vectorStoreFiles, ofFile)
      .innerJoin(files, eq(files.id, chunks.fileId))
      .where(inArray(chunks.id, ids)),
  );
  const byId = new Map(rows.map(({ id, ...passage }) => [id, passage]));
  return ranked.flatMap(({ id, score }) => {
    const passage = byId.get(id);
    return passage === undefined ? [] : [{ ...passage, score }];
  });
}
