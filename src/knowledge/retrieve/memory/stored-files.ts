import { setImmediate as nextTurn } from "node:timers/promises";
import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { AttributeFilter } from "../../../core/file-search.ts";
import type { Database } from "../../../db/database.ts";
import { type FileAttributes, vectorStoreFiles } from "../../../db/tables/knowledge.ts";
import { passesFilter } from "../attribute-filter.ts";
import type { FileRange } from "./load-chunks.ts";

/** Files that one statement lists, so that a long list does not stop the streams. */
const FILES_PAGE = 5_000;
/** Files that are compared with a filter in one turn of the event loop. */
const FILTERED_AT_ONCE = 2_000;

/** A completed file of a store. */
export interface StoredFile {
  readonly id: string;
  /** Another one once it is read anew; its attributes, and the generation that a reindex builds, leave it. */
  readonly mark: string;
  readonly attributes: FileAttributes;
  readonly chunks: number;
}

/** A file of a store in memory. */
export interface HeldFile extends StoredFile {
  /** Its number in the thread. */
  readonly number: number;
}

/** Lists the completed files of a store, sorted by id as the database sorts. */
export async function listFiles(
  { askOwn }: Pick<Database, "askOwn">,
  storeId: string,
): Promise<readonly StoredFile[]> {
  const table = vectorStoreFiles;
  const isCompleted = and(eq(table.vectorStoreId, storeId), eq(table.status, "completed"));
  const files: StoredFile[] = [];
  for (let after = ""; ; after = files.at(-1)?.id ?? "") {
    const page = await askOwn((db) =>
      db
        .select({
          id: table.fileId,
          mark: sql<string>`${table.createdAt}::text`,
          attributes: table.attributes,
          chunks: sql<number>`coalesce(${table.chunksTotal}, ${table.chunksDone})`,
        })
        .from(table)
        .where(and(isCompleted, gt(table.fileId, after)))
        .orderBy(asc(table.fileId))
        .limit(FILES_PAGE),
    );
    files.push(...page);
    if (page.length < FILES_PAGE) return files;
  }
}

/** The number of chunks of all these files. */
export function chunksOf(files: readonly StoredFile[]): number {
  return files.reduce((sum, { chunks }) => sum + chunks, 0);
}

/** Returns the numbers of the files that pass a filter. */
export async function passingFiles(
  files: ReadonlyMap<string, HeldFile>,
  filter: AttributeFilter,
): Promise<Uint32Array> {
  const passing: number[] = [];
  let compared = 0;
  for (const { attributes, number } of files.values()) {
    if (compared > 0 && compared % FILTERED_AT_ONCE === 0) await nextTurn();
    compared += 1;
    if (passesFilter(attributes, filter)) passing.push(number);
  }
  return Uint32Array.from(passing);
}

/** Returns the ranges of files to load: neighbours among the wanted ones are loaded together. */
export function rangesOf(
  files: readonly StoredFile[],
  wanted: ReadonlyMap<string, number>,
): readonly FileRange[] {
  const ranges: { first: string; last: string }[] = [];
  let isOpen = false;
  for (const { id } of files) {
    const isWanted = wanted.has(id);
    const range = ranges.at(-1);
    if (isWanted && isOpen && range !== undefined) range.last = id;
    else if (isWanted) ranges.push({ first: id, last: id });
    isOpen = isWanted;
  }
  return ranges;
}
