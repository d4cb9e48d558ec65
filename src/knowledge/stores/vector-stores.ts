import { and, eq } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import { auditDetails } from "../../access/audit/record-audit.ts";
import { change } from "../../access/change.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { type Cursor, type CursorPage, readCursorPage } from "../../db/cursor-page.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { randomBase62 } from "../../lib/id.ts";
import { findCopies } from "../ingest/folder-copies.ts";
import {
  createFolderBatch,
  enqueueCopies,
  type Folder,
  startReindex,
} from "../ingest/ingestion-jobs.ts";
import { refuseSharing, type Visibility, visibleTo } from "../rights.ts";
import { addFiles, type NewStoreFile } from "./add-files.ts";
import { refuseFolder } from "./file-batches.ts";
import {
  changeStore,
  isExpired,
  readStore,
  refuseExpired,
  type StoreRow,
  type Stores,
} from "./stores.ts";
import { expiryOf } from "./touch-stores.ts";
import { type VectorStore, withFigures } from "./vector-store.ts";

/** What the owner of a store decides. */
interface StoreFields {
  readonly name: string;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly expiresAfterDays: number | null;
  /** Only administrators set `everyone`. */
  readonly visibility: Visibility;
  /** The folder that the store follows; only administrators set one. */
  readonly folder: Folder | null;
}

/** The fields to change. */
export type StorePatch = { readonly [Name in keyof StoreFields]?: StoreFields[Name] | undefined };

export interface NewStore extends StoreFields {
  /** Undefined: the default. */
  readonly embeddingModel: string | undefined;
  readonly files: readonly NewStoreFile[];
}

/** Lists the stores that the caller may use. */
export function listStores(
  { database, clock }: Stores,
  caller: Caller,
  cursor: Cursor,
): Promise<CursorPage<VectorStore>> {
  const { id, createdAt } = vectorStores;
  const isVisible = visibleTo(vectorStores, caller);
  return database.ask(async (db) => {
    const page = await readCursorPage<StoreRow>(cursor, {
      createdAt,
      id,
      async findTime(cursorId) {
        const mine = and(eq(id, cursorId), isVisible);
        const [row] = await db.select({ createdAt }).from(vectorStores).where(mine);
        return row?.createdAt;
      },
      read: ({ where, orderBy, limit }) =>
        db
          .select()
          .from(vectorStores)
          .where(and(isVisible, ...where))
          .orderBy(...orderBy)
          .limit(limit),
    });
    return { ...page, items: await withFigures(db, page.items, clock.now()) };
  });
}

/** Rejects with `not_found`. */
export function findStore(
  { database, clock }: Stores,
  caller: Caller,
  id: string,
): Promise<VectorStore> {
  return database.ask(async (db) => readFigures(db, await readStore(db, id, caller), clock.now()));
}

/**
 * Creates a store that the actor owns, and starts to add its files. Rejects with `not_found` for a file that the actor
 * may not use, and with `insufficient_permission`.
 */
export async function createStore(
  stores: Stores,
  actor: Actor,
  { files, embeddingModel, ...fields }: NewStore,
): Promise<VectorStore> {
  refuseForUsers(stores, actor.caller, fields);
  const model = await chooseModel(stores, embeddingModel);
  const now = stores.clock.now();
  const at = new Date(now);
  const { folder, ...columns } = fields;
  const row = {
    ...columns,
    ...folderColumns(folder),
    id: `vs_${randomBase62(22)}`,
    ownerId: actor.caller.ownerId,
    embeddingModel: model,
    createdAt: at,
    lastActiveAt: at,
    expiresAt: expiryOf(at, fields.expiresAfterDays),
  };
  const frame = {
    action: "vector_store.create",
    targetKind: "vector_store",
    targetId: row.id,
  } as const;
  const created = await change(stores, actor, frame, async (transaction) => {
    const [store] = await transaction.insert(vectorStores).values(row).returning();
    if (store === undefined) throw new Error("the vector store was not inserted");
    await addFiles(transaction, { store, files, caller: actor.caller, inBatch: true }, now);
    if (folder !== null) await fillFromFolder(transaction, store, folder, now);
    return { result: await readFigures(transaction, store, now), details: null };
  });
  stores.wakeIngestion();
  return created;
}

/** Sets the given fields. Rejects with `not_found` and `insufficient_permission`. */
export function updateStore(
  stores: Stores,
  actor: Actor,
  { id, fields }: { readonly id: string; readonly fields: StorePatch },
): Promise<VectorStore> {
  refuseForUsers(stores, actor.caller, fields);
  const { folder, ...columns } = fields;
  const details = auditDetails(fields);
  return changeStore(stores, actor, { id, verb: "update", details }, async (transaction, store) => {
    const now = stores.clock.now();
    const set = {
      ...columns,
      ...(folder !== undefined && folderColumns(folder)),
      ...expiryColumns(store, fields, now),
    };
    const isChanged = Object.values(set).some((value) => value !== undefined);
    const [row = store] = isChanged
      ? await transaction.update(vectorStores).set(set).where(eq(vectorStores.id, id)).returning()
      : [];
    if (folder) await fillFromFolder(transaction, row, folder, now);
    return readFigures(transaction, row, now);
  });
}

/**
 * Deletes a store; its chunks are deleted in the background, and so are copies of a folder's files, which nobody has
 * uploaded, unless another store has them. Uploaded files stay.
 */
export function deleteStore(stores: Stores, actor: Actor, id: string): Promise<void> {
  return changeStore(stores, actor, { id, verb: "delete" }, async (transaction) => {
    const copies = await findCopies(transaction, { vectorStoreId: id });
    // In one statement each, because deleting a batch would update each of its files.
    await transaction.delete(vectorStoreFiles).where(eq(vectorStoreFiles.vectorStoreId, id));
    await transaction.delete(fileBatches).where(eq(fileBatches.vectorStoreId, id));
    await transaction.delete(vectorStores).where(eq(vectorStores.id, id));
    await enqueueCopies(transaction, copies, stores.clock.now());
  });
}

/**
 * Starts to build the store anew with an embedding model, by default the one of new stores. The store is searched as it
 * was until that has ended. While it is in progress the call changes nothing.
 */
export async function reindexStore(
  stores: Stores,
  actor: Actor,
  { id, embeddingModel }: { readonly id: string; readonly embeddingModel: string | undefined },
): Promise<VectorStore> {
  // Before the model's name is looked up: a stranger must not learn from that error whether the store exists.
  await stores.database.ask((db) => readStore(db, id, actor.caller));
  const model = await chooseModel(stores, embeddingModel);
  const details = { embedding_model: model };
  return changeStore(
    stores,
    actor,
    { id, verb: "reindex", details },
    async (transaction, store) => {
      const now = stores.clock.now();
      refuseExpired(store, now);
      if (store.nextGeneration === null) await startReindex(transaction, store, { model, now });
      return readFigures(transaction, await readStore(transaction, id, actor.caller), now);
    },
  );
}

async function readFigures(db: Db, store: StoreRow, now: number): Promise<VectorStore> {
  const [found] = await withFigures(db, [store], now);
  if (found === undefined) throw new Error("the figures of a store are missing");
  return found;
}

/** Resolves with the name of the model. An unknown name is refused, because the store would keep another one for life. */
async function chooseModel({ resolveModel }: Stores, name: string | undefined): Promise<string> {
  const model = await resolveModel(name);
  if (name === undefined || model === name) return model;
  throw new ServiceError(
    "invalid_value",
    `There is no embedding model '${name}'. Leave the field out to use '${model}', or choose one of GET /v1/models?type=embedding.`,
    { param: "ext.embedding_model" },
  );
}

function refuseForUsers(stores: Stores, caller: Caller, { visibility, folder }: StorePatch): void {
  refuseSharing(visibility, caller);
  if (folder) refuseFolder(stores, caller, folder, "ext.folder");
}

function folderColumns(folder: Folder | null) {
  return {
    folderConnection: folder?.fileConnection ?? null,
    folderGlob: folder?.glob ?? null,
  };
}

/** Counts from now on for a store that has expired: nobody could use it, and it would stay expired. */
function expiryColumns(store: StoreRow, { expiresAfterDays: days }: StorePatch, now: number) {
  if (days === undefined) return {};
  const lastActiveAt = isExpired(store, now) ? new Date(now) : store.lastActiveAt;
  return { lastActiveAt, expiresAt: expiryOf(lastActiveAt, days) };
}

/** The files that the folder has already; later ones come by its events. */
async function fillFromFolder(
  transaction: Db,
  { id }: StoreRow,
  folder: Folder,
  now: number,
): Promise<void> {
  await createFolderBatch(transaction, { ...folder, vectorStoreId: id }, now);
}
