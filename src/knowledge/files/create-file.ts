import { inArray } from "drizzle-orm";
import type { AnyActor } from "../../access/actor.ts";
import { confirmActor } from "../../access/confirm-actor.ts";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { files } from "../../db/tables/knowledge.ts";
import { randomBase62 } from "../../lib/id.ts";
import { fireEvents } from "../../queue/internal-events.ts";
import type { Visibility } from "../rights.ts";
import { lockContent, removeUnreferenced } from "./contents.ts";
import { type FileStore, factsOf, type StoredFile } from "./files.ts";
import { claimFolder } from "./files-folder.ts";
import type { Content, OriginalDraft } from "./original-draft.ts";
import { inFilesDir } from "./store-failure.ts";

/** What the caller decides of a new file. */
export interface NewFile {
  readonly filename: string;
  readonly purpose: string;
  /** Null for a file of a store whose owner was deleted. */
  readonly ownerId: string | null;
  readonly visibility: Visibility;
  /** Seconds from its creation. */
  readonly expiresAfter?: number | undefined;
}

const ID_LENGTH = 22;

/**
 * Adds a finished draft as an uploaded file. Rejects with `storage_unavailable`, and for an uploader who has lost the right
 * meanwhile; the draft is to be discarded then.
 */
export async function createFile(
  store: FileStore,
  { draft, content, actor }: Upload,
  fields: NewFile,
): Promise<StoredFile> {
  const file = await store.database.ask((db) =>
    addFile(db, store, { draft, content, fields, actor }, true),
  );
  store.onFired();
  return file;
}

/**
 * Takes the bytes of a file of another folder, for work of the gateway itself: its folder has fired the event. Rejects
 * with `storage_unavailable` or `request_too_large`, and as the source does when it cannot be read.
 */
export async function createFileFromStream(
  store: FileStore,
  source: AsyncIterable<Uint8Array>,
  fields: NewFile,
): Promise<StoredFile> {
  const draft = await inFilesDir(() => store.originals.begin());
  try {
    let length = 0;
    for await (const bytes of source) {
      length += bytes.length;
      if (length > store.maxBytes) throw tooLarge(store);
      await inFilesDir(() => draft.write(bytes));
    }
    const content = await inFilesDir(draft.finish);
    return await addFile(store.database.db, store, { draft, content, fields }, false);
  } finally {
    await draft.discard();
  }
}

/** Stores bytes as a file, for work of the gateway itself; no event is fired. Rejects as `createFile` does. */
export async function createFileFromBytes(
  store: FileStore,
  bytes: Uint8Array,
  fields: NewFile,
): Promise<StoredFile> {
  if (bytes.byteLength > store.maxBytes) throw tooLarge(store);
  const draft = await inFilesDir(() => store.originals.begin());
  try {
    await inFilesDir(() => draft.write(bytes));
    const content = await inFilesDir(draft.finish);
    return await addFile(store.database.db, store, { draft, content, fields }, false);
  } finally {
    await draft.discard();
  }
}

/** Makes files permanent that would expire: a store has taken them. */
export async function keepFiles(transaction: Db, ids: readonly string[]): Promise<void> {
  await transaction
    .update(files)
    .set({ expiresAt: null })
    .where(inArray(files.id, [...ids]));
}

/** What has arrived, and who sent it. */
interface Upload {
  readonly draft: Pick<OriginalDraft, "moveTo">;
  readonly content: Content;
  readonly actor?: AnyActor;
}

interface Addition {
  readonly draft: Pick<OriginalDraft, "moveTo">;
  readonly content: Content;
  readonly fields: NewFile;
  /** Unset for work of the gateway itself. */
  readonly actor?: AnyActor | undefined;
}

/**
 * Gives the content its place and inserts the row, under the content's lock: whoever removes an equal content at the
 * same time finds the row, or removes before the new one is placed.
 */
async function addFile(
  db: Db,
  { originals, clock, ...store }: FileStore,
  { draft, content, fields, actor }: Addition,
  isUpload: boolean,
): Promise<StoredFile> {
  const now = clock.now();
  const { expiresAfter, ...given } = fields;
  const expiresAt = expiresAfter === undefined ? null : new Date(now + expiresAfter * 1_000);
  const id = `file-${randomBase62(ID_LENGTH)}`;
  const row = { id, ...given, ...content, createdAt: new Date(now), expiresAt };
  let isPlaced = false;
  try {
    return await withTransaction(db, async (transaction) => {
      await lockContent(transaction, content.sha256);
      // An upload may last for minutes.
      if (actor !== undefined) await confirmActor(transaction, { clock }, actor);
      if (!(await inFilesDir(() => claimFolder(transaction, originals.folder)))) throw notShared();
      isPlaced = true;
      await inFilesDir(() => draft.moveTo(originals.pathOf(content.sha256)));
      const [file] = await transaction.insert(files).values(row).returning();
      if (file === undefined) throw new Error("the inserted file was not returned");
      if (isUpload) {
        const body = { ...factsOf(file), change: "created" as const };
        await fireEvents(transaction, [{ kind: "file.uploaded", body }], now);
      }
      return file;
    });
  } catch (thrown) {
    if (isPlaced) await removeUnreferenced({ ...store, originals }, content.sha256);
    throw thrown;
  }
}

export function tooLarge({ maxBytes }: Pick<FileStore, "maxBytes">): ServiceError {
  return new ServiceError(
    "request_too_large",
    `The file is larger than ${maxBytes} bytes; the operator sets FILE_MAX_BYTES.`,
  );
}

function notShared(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "FILES_DIR of this server is not the folder that holds the other uploaded files. The operator has to give every replica the same folder.",
  );
}
