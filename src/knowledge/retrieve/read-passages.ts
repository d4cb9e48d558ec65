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
  const rows = await database.ask((db) => {
    // The limit keeps the planner from joining first: without statistics, which the embedded database never makes by
    // itself, it would read all chunks of the store.
    const found = db
      .select()
      .from(chunks)
      .where(inArray(chunks.id, ids))
      .limit(ids.length)
      .as("found");
    const inStore = and(
      eq(vectorStores.id, found.vectorStoreId),
      eq(vectorStores.generation, found.generation),
    );
    const ofFile = and(
      eq(vectorStoreFiles.vectorStoreId, found.vectorStoreId),
      eq(vectorStoreFiles.fileId, found.fileId),
      eq(vectorStoreFiles.status, "completed"),
    );
    return db
      .select({
        id: found.id,
        vectorStoreId: found.vectorStoreId,
        fileId: found.fileId,
        filename: files.filename,
        attributes: vectorStoreFiles.attributes,
        page: found.page,
        sheet: found.sheet,
        heading: found.heading,
        text: found.text,
      })
      .from(found)
      .innerJoin(vectorStores, inStore)
      .innerJoin(vectorStoreFiles, ofFile)
      .innerJoin(files, eq(files.id, found.fileId));
  });
  const byId = new Map(rows.map(({ id, ...passage }) => [id, passage]));
  return ranked.flatMap(({ id, score }) => {
    const passage = byId.get(id);
    return passage === undefined ? [] : [{ ...passage, score }];
  });
}
