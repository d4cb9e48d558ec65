import { and, asc, eq, getTableColumns, gt, type SQL } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { type Cursor, type CursorPage, readCursorPage } from "../../db/cursor-page.ts";
import { chunks, type FileAttributes, files, vectorStoreFiles } from "../../db/tables/knowledge.ts";
import { raiseVersion, removeFileFromStore } from "../ingest/chunks/remove-chunks.ts";
import { deleteCopies, findCopies } from "../ingest/folder-copies.ts";
import { addFiles, type NewStoreFile, type StoreFileRow } from "./add-files.ts";
import { type InStore, readBatch } from "./file-batches.ts";
import { changeStore, readStore, type Stores } from "./stores.ts";
import { touchStores } from "./touch-stores.ts";

/** Chunks that one query reads. */
const CHUNKS_A_QUERY = 500;

/** A file in a store, with what its upload says of it. */
export interface StoreFile extends StoreFileRow {
  readonly filename: string;
  readonly bytes: number;
}

interface FileQuery {
  readonly storeId: string;
  /** Only the files of this batch. */
  readonly batchId?: string;
  readonly status?: StoreFileRow["status"] | undefined;
  readonly cursor: Cursor;
}

/**
 * Adds a file to a store. Rejects with `not_found` for a store or file that the actor may not use, and with
 * `insufficient_permission`.
 */
export function addStoreFile(
  stores: Stores,
  actor: Actor,
  { storeId, file }: { readonly storeId: string; readonly file: NewStoreFile },
): Promise<StoreFile> {
  const change = { id: storeId, verb: "add_files", details: { file_id: file.fileId } } as const;
  return changeStore(stores, actor, change, async (transaction, store) => {
    const added = { store, files: [file], caller: actor.caller, inBatch: false };
    await addFiles(transaction, added, stores.clock.now());
    return readFile(transaction, { storeId, id: file.fileId });
  });
}

/** Lists the files of a store, or those of a batch in it. Rejects with `not_found`. */
export function listStoreFiles(
  { database }: Stores,
  caller: Caller,
  { storeId, batchId, status, cursor }: FileQuery,
): Promise<CursorPage<StoreFile>> {
  const { vectorStoreId, fileId: id, createdAt } = vectorStoreFiles;
  const isListed = and(
    eq(vectorStoreId, storeId),
    batchId === undefined ? undefined : eq(vectorStoreFiles.batchId, batchId),
    status === undefined ? undefined : eq(vectorStoreFiles.status, status),
  );
  return database.ask(async (db) => {
    await readStore(db, storeId, caller);
    if (batchId !== undefined) await readBatch(db, { storeId, id: batchId });
    return readCursorPage<StoreFile>(cursor, {
      createdAt,
      id,
      // The status of the file before the page may have changed since that was read.
      async findTime(cursorId) {
        const place = isFile({ storeId, id: cursorId });
        const [row] = await db.select({ createdAt }).from(vectorStoreFiles).where(place);
        return row?.createdAt;
      },
      read: ({ where, orderBy, limit }) =>
        selectFiles(db)
          .where(and(isListed, ...where))
          .orderBy(...orderBy)
          .limit(limit),
    });
  });
}

/** Rejects with `not_found`. */
export function findStoreFile(
  { database }: Stores,
  caller: Caller,
  place: InStore,
): Promise<StoreFile> {
  return database.ask(async (db) => {
    await readStore(db, place.storeId, caller);
    return readFile(db, place);
  });
}

/** Replaces the attributes of a file. Rejects with `not_found` and `insufficient_permission`. */
export function setAttributes(
  stores: Stores,
  actor: Actor,
  { attributes, ...place }: InStore & { readonly attributes: FileAttributes },
): Promise<StoreFile> {
  const { storeId, id } = place;
  const details = { file_id: id, attributes };
  return changeStore(
    stores,
    actor,
    { id: storeId, verb: "change_file", details },
    async (transaction) => {
      await raiseVersion(transaction, storeId);
      await transaction.update(vectorStoreFiles).set({ attributes }).where(isFile(place));
      await touchStores(transaction, [storeId], stores.clock.now());
      return readFile(transaction, place);
    },
  );
}

/**
 * Takes a file out of a store. An uploaded file itself stays; a copy of a folder's file is deleted unless another store
 * has it. Rejects with `not_found` and `insufficient_permission`.
 */
export function removeStoreFile(
  stores: Stores,
  actor: Actor,
  { storeId, id: fileId }: InStore,
): Promise<void> {
  const change = { id: storeId, verb: "remove_file", details: { file_id: fileId } } as const;
  return changeStore(stores, actor, change, async (transaction) => {
    const now = stores.clock.now();
    const file = { vectorStoreId: storeId, fileId };
    const copies = await findCopies(transaction, file);
    if (!(await removeFileFromStore(transaction, file, now))) throw unknownFile();
    await deleteCopies(transaction, copies);
    await touchStores(transaction, [storeId], now);
  });
}

/**
 * Returns the texts of a file's chunks in their order; none before it is completed. They are bounded by what a reader
 * takes from one document. Rejects with `not_found`.
 */
export async function readContent(
  { database }: Stores,
  caller: Caller,
  place: InStore,
): Promise<readonly string[]> {
  const { storeId, id } = place;
  const { generation, status } = await database.ask(async (db) => {
    const store = await readStore(db, storeId, caller);
    const file = await readFile(db, place);
    return { generation: store.generation, status: file.status };
  });
  if (status !== "completed") return [];
  const { vectorStoreId, fileId, position, text } = chunks;
  const texts: string[] = [];
  let last = -1;
  for (;;) {
    const after = last;
    // A query each, so that a long document holds up no other caller.
    const rows = await database.ask((db) =>
      db
        .select({ position, text })
        .from(chunks)
        .where(
          and(
            eq(vectorStoreId, storeId),
            eq(chunks.generation, generation),
            eq(fileId, id),
            gt(position, after),
          ),
        )
        .orderBy(asc(position))
        .limit(CHUNKS_A_QUERY),
    );
    for (const row of rows) texts.push(row.text);
    if (rows.length < CHUNKS_A_QUERY) return texts;
    last = rows.at(-1)?.position ?? last;
  }
}

async function readFile(db: Db, place: InStore): Promise<StoreFile> {
  const [row] = await selectFiles(db).where(isFile(place));
  if (row === undefined) throw unknownFile();
  return row;
}

function selectFiles(db: Db) {
  const { filename, bytes } = files;
  return db
    .select({ ...getTableColumns(vectorStoreFiles), filename, bytes })
    .from(vectorStoreFiles)
    .innerJoin(files, eq(files.id, vectorStoreFiles.fileId));
}

function isFile({ storeId, id }: InStore): SQL | undefined {
  return and(eq(vectorStoreFiles.vectorStoreId, storeId), eq(vectorStoreFiles.fileId, id));
}

function unknownFile(): ServiceError {
  return new ServiceError("not_found", "There is no file of this id in the vector store.");
}
