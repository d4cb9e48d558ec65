import { and, eq, gt, inArray, isNull, max, or, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { inGroups } from "../../lib/in-groups.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { WorkContext } from "../../queue/topic.ts";
import type { SeenFile } from "../../queue/watched-folders/folder-reader.ts";
import type { FileConnections } from "../file-connections.ts";
import { keepFiles, type NewFile } from "../files/create-file.ts";
import { cleanFilename } from "../files/filename.ts";
import { removeFilesFromStore } from "./chunks/remove-chunks.ts";
import { deleteCopies, forgetFiles } from "./folder-copies.ts";
import { enqueueIngestion } from "./ingestion-jobs.ts";

/** Files that are copied and added in one transaction. */
const FILES_A_TRANSACTION = 20;
/** A copy that no store took, because the server was killed, is deleted after this time. */
const ORPHAN_SECONDS = 86_400;
/** The name of a file whose own one has no character that can be shown. */
const UNNAMED = "unnamed";

/** Makes a file of the gateway of the bytes of one in a folder, and resolves with its id. */
export type TakeFile = (
  source: AsyncIterable<Uint8Array>,
  fields: Omit<NewFile, "purpose">,
) => Promise<string>;

export interface FolderParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly connections: FileConnections;
  readonly takeFile: TakeFile;
  /** FILE_MAX_BYTES. */
  readonly maxBytes: number;
  /** WATCH_ANSWER_TIMEOUT_MS. */
  readonly answerTimeoutMs: number;
  /** Wakes the workers of the ingestion after a commit. */
  readonly wake: () => void;
}

/** The files of a file connection in a store. */
export interface FolderOfStore {
  readonly vectorStoreId: string;
  /** Its name. */
  readonly connection: string;
}

/** The condition for the store's files of this folder. */
export function isOfFolder({ vectorStoreId, connection }: FolderOfStore) {
  return and(
    eq(vectorStoreFiles.vectorStoreId, vectorStoreId),
    eq(vectorStoreFiles.sourceConnection, connection),
  );
}

/**
 * Adds files of a folder to a store, in transactions of a few, each of which lowers the count of those that remain for the
 * batch. A file that cannot be read now, or has become too large, is skipped. An earlier version stays found until the new
 * one is. Resolves with false, and leaves the rest, when the store is gone or has expired, or the batch was cancelled.
 * Rejects with `storage_unavailable`, and when the database fails.
 */
export async function addFolderFiles(
  parts: FolderParts,
  folder: FolderOfStore & { readonly batchId: string | null },
  { seen, context }: { readonly seen: readonly SeenFile[]; readonly context: WorkContext },
): Promise<boolean> {
  for (const portion of inGroups(seen, FILES_A_TRANSACTION)) {
    const owner = await readOwner(parts, folder.vectorStoreId);
    if (owner === undefined) return false;
    const isAdded = await addPortion(parts, { ...folder, ...owner }, { seen: portion, context });
    if (!isAdded) return false;
    parts.wake();
  }
  return true;
}

/**
 * Copies files and adds the copies to the store. If that fails, all copies are deleted: otherwise they would stay as files
 * of the owner, and the resumed job would copy them again.
 */
async function addPortion(
  parts: FolderParts,
  folder: FolderOfStore & { readonly batchId: string | null; readonly ownerId: string | null },
  { seen, context }: { readonly seen: readonly SeenFile[]; readonly context: WorkContext },
): Promise<boolean> {
  const taken: TakenFile[] = [];
  let isAdded = false;
  try {
    for (const file of seen) {
      context.signal.throwIfAborted();
      const copy = await takeFile(parts, { ...folder, seen: file });
      if (copy !== undefined) taken.push(copy);
    }
    isAdded = await insertTaken(parts, folder, { taken, passed: seen.length, context });
  } finally {
    const copies = taken.map(({ fileId }) => fileId);
    if (!isAdded) await forgetFiles(parts.db, copies);
  }
  return isAdded;
}

/** The condition for a store that still takes files: those of an expired one are removed. */
export function isNotExpired(clock: Clock) {
  const { expiresAt } = vectorStores;
  return or(isNull(expiresAt), gt(expiresAt, new Date(clock.now())));
}

/** Resolves with undefined when the store is gone or has expired. */
async function readOwner(
  { db, clock }: FolderParts,
  id: string,
): Promise<Pick<typeof vectorStores.$inferSelect, "ownerId"> | undefined> {
  const { ownerId } = vectorStores;
  const isMeant = and(eq(vectorStores.id, id), isNotExpired(clock));
  const [store] = await db.select({ ownerId }).from(vectorStores).where(isMeant);
  return store;
}

interface TakenFile {
  readonly fileId: string;
  readonly sourcePath: string;
  readonly sourceSize: number;
  readonly sourceModifiedMs: number;
}

/**
 * The size and time are those with which the file was seen, before its content is read: when it has changed since, it is
 * taken again as soon as the change is seen. With its own ones now, a file that is written all the time would differ from
 * what was seen whenever the two are compared.
 */
async function takeFile(
  { connections, takeFile, maxBytes, log }: FolderParts,
  {
    connection,
    ownerId,
    seen: { path, size: sourceSize, modifiedMs: sourceModifiedMs },
  }: FolderOfStore & { readonly ownerId: string | null; readonly seen: SeenFile },
): Promise<TakenFile | undefined> {
  try {
    const file = await connections.open(connection, path);
    try {
      if ((await file.stat()).size > maxBytes) return undefined;
      const filename = cleanFilename(path) ?? UNNAMED;
      // Readers of the store find it there; as a file of its own it belongs to the store's owner, whoever reads the store.
      const fileId = await takeFile(file.createReadStream({ autoClose: false }), {
        ...{ filename, ownerId, visibility: "private", expiresAfter: ORPHAN_SECONDS },
      });
      return { fileId, sourcePath: path, sourceSize, sourceModifiedMs };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if (!isOfSource(thrown)) throw thrown;
    log.warn(
      { err: thrown, connection, path },
      "a file of a folder could not be read and is skipped",
    );
    return undefined;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(["not_found", "request_too_large"]);
/** Codes of the system that tell of the server or its network, and not of one file. */
const OF_SERVER = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|EMFILE|ENFILE|ENOMEM)/;

/** Whether the file itself cannot be read. What fails in FILES_DIR or in the database fails for every file, and passes. */
function isOfSource(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return UNREADABLE.has(thrown.code);
  if (!(thrown instanceof Error && "syscall" in thrown)) return false;
  return !("code" in thrown && OF_SERVER.test(String(thrown.code)));
}

interface Insertion {
  readonly taken: readonly TakenFile[];
  /** How many files were taken or skipped. */
  readonly passed: number;
  readonly context: WorkContext;
}

async function insertTaken(
  { db, clock }: FolderParts,
  { vectorStoreId, connection, batchId }: FolderOfStore & { readonly batchId: string | null },
  { taken, passed, context }: Insertion,
): Promise<boolean> {
  return withTransaction(db, async (transaction) => {
    const [store] = await transaction
      .select({ generation: vectorStores.generation })
      .from(vectorStores)
      .where(and(eq(vectorStores.id, vectorStoreId), isNotExpired(clock)))
      // Against the cancelling of the batch: the files come before it, or not at all.
      .for(batchId === null ? "key share" : "no key update");
    if (store === undefined) return false;
    if (batchId !== null && (await isCancelled(transaction, batchId))) return false;
    const now = clock.now();
    const origin = { vectorStoreId, batchId, sourceConnection: connection };
    const times = await readVersionTimes(transaction, { vectorStoreId, connection }, taken);
    const rows = taken.map((file) => {
      const before = times.get(file.sourcePath) ?? Number.NEGATIVE_INFINITY;
      return { ...file, ...origin, createdAt: new Date(Math.max(now, before + 1)) };
    });
    await keepFiles(
      transaction,
      taken.map(({ fileId }) => fileId),
    );
    if (rows.length > 0) await transaction.insert(vectorStoreFiles).values(rows);
    const { generation } = store;
    const jobs = taken.map(({ fileId }) => ({ vectorStoreId, fileId, generation }));
    await enqueueIngestion(transaction, jobs, now);
    if (batchId !== null) {
      await transaction
        .update(fileBatches)
        .set({ remaining: sql`${fileBatches.remaining} - ${passed}::int` })
        .where(eq(fileBatches.id, batchId));
    }
    await context.checkpoint(transaction);
    return true;
  });
}

/**
 * When the latest version of each of these files was added, in Unix milliseconds. The versions of a file are told apart
 * by that time, so a new one must not seem older when the clock was set back.
 */
async function readVersionTimes(
  transaction: Db,
  folder: FolderOfStore,
  taken: readonly TakenFile[],
): Promise<ReadonlyMap<string | null, number>> {
  const { sourcePath, createdAt } = vectorStoreFiles;
  const paths = taken.map((file) => file.sourcePath);
  const rows = await transaction
    .select({ path: sourcePath, latest: max(createdAt) })
    .from(vectorStoreFiles)
    .where(and(isOfFolder(folder), inArray(sourcePath, paths)))
    .groupBy(sourcePath);
  return new Map(rows.map(({ path, latest }) => [path, latest?.getTime() ?? 0]));
}

async function isCancelled(transaction: Db, batchId: string): Promise<boolean> {
  const { id, cancelledAt } = fileBatches;
  const [batch] = await transaction
    .select({ cancelledAt })
    .from(fileBatches)
    .where(eq(id, batchId));
  return batch !== undefined && batch.cancelledAt !== null;
}

/** Takes the files of these paths out of a store, in every version. */
export async function removeFolderFiles(
  { db, clock }: Pick<FolderParts, "db" | "clock">,
  folder: FolderOfStore,
  paths: readonly string[],
): Promise<void> {
  const rows = await db
    .select({ fileId: vectorStoreFiles.fileId })
    .from(vectorStoreFiles)
    .where(and(isOfFolder(folder), inArray(vectorStoreFiles.sourcePath, [...paths])))
    // As copies are locked.
    .orderBy(vectorStoreFiles.fileId);
  const fileIds = rows.map(({ fileId }) => fileId);
  const { vectorStoreId } = folder;
  await withTransaction(db, async (transaction) => {
    await removeFilesFromStore(transaction, { vectorStoreId, fileIds }, clock.now());
    await deleteCopies(transaction, fileIds);
  });
}
