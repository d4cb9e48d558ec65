import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { chunks, vectorStoreFiles, vectorStores } from "../../../db/tables/knowledge.ts";
import { enqueueSettlement } from "../ingestion-jobs.ts";

/** Places of chunks that one statement looks through, and chunks that one statement deletes. */
const PLACES_A_PAGE = 1_000;
const CHUNKS_A_STATEMENT = 1_000;

/**
 * Takes files out of a store, a few thousand at most. They are no longer found from the commit on; their chunks are
 * deleted by `pruneChunks`. The caller wakes the worker of the ingestion after the commit.
 * @param now Unix milliseconds.
 * @returns how many of them the store had.
 */
export async function removeFilesFromStore(
  transaction: Db,
  {
    vectorStoreId,
    fileIds,
  }: { readonly vectorStoreId: string; readonly fileIds: readonly string[] },
  now: number,
): Promise<number> {
  await raiseVersion(transaction, vectorStoreId);
  const { vectorStoreId: store, fileId } = vectorStoreFiles;
  const removed = await transaction
    .delete(vectorStoreFiles)
    .where(and(eq(store, vectorStoreId), inArray(fileId, [...fileIds])))
    .returning(REMOVED);
  await settleBatches(transaction, removed, now);
  return removed.length;
}

/**
 * As `removeFilesFromStore`, for one file. Returns false when the store does not have it.
 * @param now Unix milliseconds.
 */
export async function removeFileFromStore(
  transaction: Db,
  { vectorStoreId, fileId }: { readonly vectorStoreId: string; readonly fileId: string },
  now: number,
): Promise<boolean> {
  return (await removeFilesFromStore(transaction, { vectorStoreId, fileIds: [fileId] }, now)) > 0;
}

/**
 * Takes files out of all stores that have them, before the files are deleted.
 * @param now Unix milliseconds.
 */
export async function removeFilesFromAllStores(
  transaction: Db,
  fileIds: readonly string[],
  now: number,
): Promise<void> {
  const { vectorStoreId, fileId } = vectorStoreFiles;
  const areMeant = inArray(fileId, [...fileIds]);
  const stores = await transaction
    .selectDistinct({ id: vectorStoreId })
    .from(vectorStoreFiles)
    .where(areMeant)
    .orderBy(vectorStoreId);
  for (const { id } of stores) await raiseVersion(transaction, id);
  const removed = await transaction.delete(vectorStoreFiles).where(areMeant).returning(REMOVED);
  await settleBatches(transaction, removed, now);
}

/**
 * Marks a store as changed, so that searches read again what can be found in it, and locks it until the transaction
 * ends. Every transaction locks a store before its files, and several stores in the order of their ids: no two then
 * deadlock.
 */
export async function raiseVersion(transaction: Db, vectorStoreId: string): Promise<void> {
  await transaction
    .update(vectorStores)
    .set({ version: sql`${vectorStores.version} + 1` })
    .where(eq(vectorStores.id, vectorStoreId));
}

const REMOVED = { batchId: vectorStoreFiles.batchId, status: vectorStoreFiles.status };

/** A removed file may have been the last one that its batch waited for. */
async function settleBatches(
  transaction: Db,
  removed: readonly { readonly batchId: string | null; readonly status: string }[],
  now: number,
): Promise<void> {
  const waiting = removed.filter(({ status }) => status === "in_progress");
  await enqueueSettlement(
    transaction,
    waiting.map(({ batchId }) => batchId),
    now,
  );
}

/** The chunks of a file in a generation of a store. */
interface Place {
  readonly storeId: string;
  readonly generation: number;
  readonly fileId: string;
}

/**
 * Deletes the chunks that belong to no file of a store, or to a generation that the store has left. It runs in
 * statements of bounded size, because a store may have a million chunks, and stops after `maxMs` or when it is aborted:
 * the next run continues. Chunks that are stored meanwhile are safe, since their file's row is committed before them.
 * @returns how many chunks were deleted.
 */
export async function pruneChunks(db: Db, maxMs: number, signal?: AbortSignal): Promise<number> {
  const endsAt = performance.now() + maxMs;
  const isOver = () => signal?.aborted === true || performance.now() >= endsAt;
  let deleted = 0;
  for await (const places of orphanedPlaces(db)) {
    let count = CHUNKS_A_STATEMENT;
    while (count === CHUNKS_A_STATEMENT) {
      if (isOver()) return deleted;
      count = await deletePortion(db, places);
      deleted += count;
    }
  }
  return deleted;
}

/** Reads all places, a page at a time, and yields the orphaned ones of each page that has any. */
async function* orphanedPlaces(db: Db): AsyncGenerator<readonly Place[]> {
  let page: readonly (Place & { readonly isOrphaned: boolean })[] = [];
  do {
    page = await readPlaces(db, page.at(-1));
    const orphaned = page.filter(({ isOrphaned }) => isOrphaned);
    if (orphaned.length > 0) yield orphaned;
  } while (page.length === PLACES_A_PAGE);
}

/** Reads the next places by one probe of the index for each, however many chunks a place has. */
async function readPlaces(db: Db, after: Place = { storeId: "", generation: 0, fileId: "" }) {
  const next = (place: SQL) => sql`
    (select vector_store_id, generation, file_id from ${chunks}
     where (vector_store_id, generation, file_id) > (${place})
     order by vector_store_id, generation, file_id limit 1)`;
  const first = sql`${after.storeId}::text, ${after.generation}::int, ${after.fileId}::text`;
  const last = sql`places.vector_store_id, places.generation, places.file_id`;
  return db.execute<{ -readonly [Name in keyof Place]: Place[Name] } & { isOrphaned: boolean }>(sql`
    with recursive places (vector_store_id, generation, file_id) as (
      ${next(first)}
      union all
      select following.* from places cross join lateral ${next(last)} as following
    )
    select vector_store_id as "storeId", generation, file_id as "fileId",
      not ${isKept(sql`place`)} as "isOrphaned"
    from (select * from places limit ${PLACES_A_PAGE}) as place`);
}

async function deletePortion(db: Db, places: readonly Place[]): Promise<number> {
  const given = JSON.stringify(places);
  const rows = await db.execute(sql`
    with orphaned as materialized (
      select chunk.id
      from jsonb_to_recordset(${given}::jsonb) as place ("storeId" text, generation int, "fileId" text)
      join ${chunks} as chunk on chunk.vector_store_id = place."storeId"
        and chunk.generation = place.generation and chunk.file_id = place."fileId"
      where not ${isKept(sql`chunk`)}
      limit ${CHUNKS_A_STATEMENT}
    )
    delete from ${chunks} as chunk using orphaned where chunk.id = orphaned.id
    returning chunk.id`);
  return rows.length;
}

/**
 * Whether the file is in the store, without having failed or been cancelled, and the generation is the searched one or
 * the one that is being built.
 */
function isKept(place: SQL): SQL {
  return sql`exists (
    select 1 from ${vectorStoreFiles} as kept
    join ${vectorStores} as store on store.id = kept.vector_store_id
    where kept.vector_store_id = ${place}.vector_store_id and kept.file_id = ${place}.file_id
      and kept.status in ('in_progress', 'completed')
      and ${place}.generation in (store.generation, coalesce(store.next_generation, 0)))`;
}
