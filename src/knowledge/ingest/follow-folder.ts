import { and, asc, eq, gt, inArray, isNotNull, lte } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { watchedFiles } from "../../db/tables/watched-files.ts";
import { pathGlob } from "../../queue/path-glob.ts";
import type { WorkContext } from "../../queue/topic.ts";
import { readKnownFilesAfter, readKnownRoot } from "../../queue/watched-folders/watched-rows.ts";
import { findChangedAndFailed } from "./find-changed.ts";
import {
  addFolderFiles,
  type FolderOfStore,
  type FolderParts,
  isNotExpired,
  removeFolderFiles,
} from "./folder-files.ts";

/** Files that are compared at a time. */
const FILES_A_PAGE = 500;
/** A file that failed by no fault of its own is tried again after this time, and so many of them by one job. */
const RETRY_AFTER_MS = 3_600_000;
const RETRIES_A_JOB = 50;

/**
 * Brings a store to the state of the folder that it follows: adds new and changed files, removes those that are gone. It
 * compares the store with the records of the folder's watcher, which has met complete files only and does not take a
 * folder that is away for an empty one. So it does not matter which events have led here, or in which order.
 */
export async function followFolder(
  parts: FolderParts,
  vectorStoreId: string,
  context: WorkContext,
): Promise<void> {
  const { db, connections, maxBytes } = parts;
  const store = await readFollowing(parts, vectorStoreId);
  const connection = store && connections.find(store.connection);
  if (store === undefined || connection === undefined) return;
  if ((await readKnownRoot(db, connection.folder)) === undefined) return;
  const isMeant = pathGlob(store.glob);
  const folder = { vectorStoreId, connection: store.connection, batchId: null };
  const before = new Date(parts.clock.now() - RETRY_AFTER_MS);
  let retries = RETRIES_A_JOB;
  for await (const page of knownFiles(db, connection.folder)) {
    const meant = page.filter(({ path, size }) => isMeant(path) && size <= maxBytes);
    const { changed, failed } = await findChangedAndFailed(db, folder, { seen: meant, before });
    const again = failed.slice(0, retries);
    retries -= again.length;
    const seen = [...changed, ...again];
    const isThere = await addFolderFiles(parts, folder, { seen, context });
    if (!isThere) return;
  }
  for await (const page of pathsOf(db, folder)) {
    context.signal.throwIfAborted();
    const present = await readPresent(parts, connection.folder, page);
    const gone = page.filter((path) => isMeant(path) && !present.has(path));
    if (gone.length > 0) await removeFolderFiles(parts, folder, gone);
  }
  parts.wake();
}

/** Resolves with undefined for a store that follows no folder, is gone or has expired. */
async function readFollowing({ db, clock }: FolderParts, id: string) {
  const { folderConnection, folderGlob } = vectorStores;
  const [store] = await db
    .select({ connection: folderConnection, glob: folderGlob })
    .from(vectorStores)
    .where(and(eq(vectorStores.id, id), isNotExpired(clock)));
  const { connection = null, glob = null } = store ?? {};
  return connection === null ? undefined : { connection, glob: glob ?? "" };
}

async function* knownFiles(db: Db, folder: string) {
  for (let after = ""; ; ) {
    const page = await readKnownFilesAfter(db, folder, { after, limit: FILES_A_PAGE });
    yield page;
    if (page.length < FILES_A_PAGE) return;
    after = page.at(-1)?.path ?? "";
  }
}

/** Yields the paths of a store's files of a connection, each once. */
async function* pathsOf(db: Db, { vectorStoreId, connection }: FolderOfStore) {
  const { sourcePath, sourceConnection } = vectorStoreFiles;
  for (let after = ""; ; ) {
    const rows = await db
      .selectDistinct({ path: sourcePath })
      .from(vectorStoreFiles)
      .where(
        and(
          eq(vectorStoreFiles.vectorStoreId, vectorStoreId),
          eq(sourceConnection, connection),
          isNotNull(sourcePath),
          gt(sourcePath, after),
        ),
      )
      .orderBy(asc(sourcePath))
      .limit(FILES_A_PAGE);
    const page = rows.flatMap(({ path }) => path ?? []);
    yield page;
    if (page.length < FILES_A_PAGE) return;
    after = page.at(-1) ?? "";
  }
}

/** A file that has grown above the limit is none of them: its earlier text would be found for ever. */
async function readPresent(
  { db, maxBytes }: Pick<FolderParts, "db" | "maxBytes">,
  folder: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const rows = await db
    .select({ path: watchedFiles.path })
    .from(watchedFiles)
    .where(
      and(
        eq(watchedFiles.folder, folder),
        inArray(watchedFiles.path, [...paths]),
        lte(watchedFiles.size, maxBytes),
      ),
    );
  return new Set(rows.map(({ path }) => path));
}

/**
 * Returns the stores that follow a folder and have not expired, in ascending order; those of all folders when none is given.
 */
export async function findFollowers(
  { db, clock, connections }: Pick<FolderParts, "db" | "clock" | "connections">,
  folder?: string,
): Promise<readonly string[]> {
  const names = connections
    .list()
    .filter(
      (connection) => connection.isWatched && (folder ?? connection.folder) === connection.folder,
    )
    .map(({ name }) => name);
  if (names.length === 0) return [];
  const rows = await db
    .select({ id: vectorStores.id })
    .from(vectorStores)
    .where(and(inArray(vectorStores.folderConnection, names), isNotExpired(clock)))
    .orderBy(asc(vectorStores.id));
  return rows.map(({ id }) => id);
}
