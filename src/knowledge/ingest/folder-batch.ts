import { and, count, eq, isNull } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { fileBatches, vectorStoreFiles, vectorStores } from "../../db/tables/knowledge.ts";
import { pathGlob } from "../../queue/path-glob.ts";
import type { WorkContext } from "../../queue/topic.ts";
import {
  createFolderReader,
  FolderAway,
  type SeenFile,
} from "../../queue/watched-folders/folder-reader.ts";
import { findChanged } from "./find-changed.ts";
import { addFolderFiles, type FolderParts } from "./folder-files.ts";
import { enqueueFollowing } from "./ingestion-jobs.ts";
import { reportBatch } from "./report-ingested.ts";

/** Files of one batch. */
const FOLDER_BATCH_FILES = 500;

/**
 * Adds the first new and changed files of a folder, by path, to the store of a batch, and stores how many are left. After
 * a crash it continues with the files that the batch does not have. Rejects with FolderAway, and as `addFolderFiles` does.
 *
 * @param isLastTry then a folder that is away ends the batch, too.
 */
export async function listFolderBatch(
  parts: FolderParts,
  { batchId, isLastTry }: { readonly batchId: string; readonly isLastTry: boolean },
  context: WorkContext,
): Promise<void> {
  const batch = await readBatch(parts, batchId);
  if (batch === undefined) return;
  const { vectorStoreId, connection, glob } = batch;
  const folder = { vectorStoreId, connection, batchId };
  let found: ChangedFiles = { first: [], count: 0 };
  try {
    const limit = FOLDER_BATCH_FILES - batch.added;
    if (!batch.isCancelled) {
      found = await findFirstChanged(parts, { ...folder, glob }, limit);
      await storeRemaining(parts.db, { batchId, remaining: found.count }, context);
    }
  } catch (thrown) {
    if (!isLastTry || !(thrown instanceof FolderAway)) throw thrown;
    const { log } = parts;
    log.warn(
      { batch: batchId, connection, cause: thrown.message },
      "the folder of a file batch could not be read; the batch ends without its files",
    );
  }
  // Where the rest is left, the batch ends all the same, unless it is gone with its store.
  await addFolderFiles(parts, folder, { seen: found.first, context });
  await withTransaction(parts.db, async (transaction) => {
    const now = parts.clock.now();
    const [store] = await transaction
      .select()
      .from(vectorStores)
      .where(eq(vectorStores.id, vectorStoreId))
      .for("key share");
    if (store === undefined) return;
    if (found.count > found.first.length && store.folderConnection !== null) {
      await enqueueFollowing(transaction, [vectorStoreId], now);
    }
    await transaction
      .update(fileBatches)
      .set({ listedAt: new Date(now) })
      .where(eq(fileBatches.id, batchId));
    await reportBatch(transaction, batchId, now);
    await context.checkpoint(transaction);
  });
  parts.wake();
}

/** Resolves with undefined for a batch that is gone or listed already. */
async function readBatch({ db }: FolderParts, batchId: string) {
  const { id, listedAt } = fileBatches;
  const [batch] = await db
    .select()
    .from(fileBatches)
    .where(and(eq(id, batchId), isNull(listedAt)));
  if (batch === undefined || batch.fileConnection === null) return undefined;
  const [files] = await db
    .select({ added: count() })
    .from(vectorStoreFiles)
    .where(eq(vectorStoreFiles.batchId, batchId));
  const { vectorStoreId, fileConnection: connection, glob, cancelledAt } = batch;
  const facts = { added: files?.added ?? 0, isCancelled: cancelledAt !== null };
  return { vectorStoreId, connection, glob: glob ?? "", ...facts };
}

/** Stored before the first file is added: a batch that is given up leaves for further ones what it did not add. */
function storeRemaining(
  db: Db,
  { batchId, remaining }: { readonly batchId: string; readonly remaining: number },
  context: WorkContext,
): Promise<void> {
  return withTransaction(db, async (transaction) => {
    await transaction.update(fileBatches).set({ remaining }).where(eq(fileBatches.id, batchId));
    await context.confirm(transaction);
  });
}

interface ChangedFiles {
  readonly first: readonly SeenFile[];
  /** Of all that were found. */
  readonly count: number;
}

interface FolderQuestion {
  readonly vectorStoreId: string;
  readonly batchId: string;
  readonly connection: string;
  readonly glob: string;
}

async function findFirstChanged(
  { db, connections, maxBytes, answerTimeoutMs }: FolderParts,
  { glob, ...folder }: FolderQuestion,
  limit: number,
): Promise<ChangedFiles> {
  const connection = connections.find(folder.connection);
  if (connection === undefined) throw new FolderAway("there is no such file connection");
  const isMeant = pathGlob(glob);
  const reader = createFolderReader(connection.folder, answerTimeoutMs);
  let first: SeenFile[] = [];
  let found = 0;
  try {
    for await (const { files } of reader.walk([])) {
      const meant = (files ?? []).filter(({ path, size }) => isMeant(path) && size <= maxBytes);
      const changed = await findChanged(db, folder, meant);
      found += changed.length;
      first = [...first, ...changed].sort(byPath).slice(0, limit);
    }
  } finally {
    reader.close();
  }
  return { first, count: found };
}

function byPath(one: SeenFile, other: SeenFile): number {
  return one.path < other.path ? -1 : 1;
}
