import { and, eq, inArray, type SQL } from "drizzle-orm";
import type { AnyActor } from "../access/actor.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import { chats as table } from "../db/tables/chats.ts";
import { randomBase62 } from "../lib/id.ts";
import { newestFirst, replacedByNext } from "./chat-history.ts";
import { type ChatStore, changeChats } from "./chat-store.ts";
import { cleanTitle } from "./chat-title.ts";

/** A chat without its document. */
export interface Chat {
  readonly id: string;
  /** Null when it cannot be opened: APP_SECRET has changed, or the row is damaged. */
  readonly title: string | null;
  readonly pinned: boolean;
  /** Raised by each save. */
  readonly revision: number;
  /** Length of the document as JSON. */
  readonly bytes: number;
  readonly createdAt: Date;
  /** The last save. */
  readonly updatedAt: Date;
}

export interface ChatList {
  /** The newest first. */
  readonly chats: readonly Chat[];
  /** What the next chat replaces; undefined when it is not kept. */
  readonly replacedByNext: readonly Chat[] | undefined;
}

/** A document that was checked. */
export interface ChatContent {
  /** JSON in UTF-8, stored as it is. */
  readonly document: Uint8Array;
  /** The title of a chat that has none yet. */
  readonly title: string;
}

const ID_LENGTH = 22;
const COLUMNS = {
  id: table.id,
  ownerId: table.ownerId,
  sealedTitle: table.sealedTitle,
  pinned: table.pinned,
  revision: table.revision,
  bytes: table.bytes,
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
};
type Row = Pick<typeof table.$inferSelect, keyof typeof COLUMNS>;

/** Lists a user's own chats: 50 at most, unless the limit was higher before. */
export async function listChats(store: ChatStore, ownerId: string): Promise<ChatList> {
  const rows = await store.database.ask((db) => readChats(db, ownerId));
  const chats = newestFirst(rows).map((row) => toChat(store, row));
  return { chats, replacedByNext: replacedByNext(chats, store.limit) };
}

/** Returns a user's own chat and its document as JSON. Rejects with `not_found` and `chat_unreadable`. */
export async function findChat(
  store: ChatStore,
  ownerId: string,
  id: string,
): Promise<{ readonly chat: Chat; readonly document: Buffer }> {
  const columns = { ...COLUMNS, sealedDocument: table.sealedDocument };
  const [row] = await store.database.ask((db) =>
    db.select(columns).from(table).where(isOwn(ownerId, id)),
  );
  if (row === undefined) throw noChat();
  const document = store.seals.openDocument(row, row.sealedDocument);
  if (document === undefined) throw unreadable();
  return { chat: toChat(store, row), document };
}

interface NewChat extends ChatContent {
  /** Who did not see the answer sends the chat again under the id that it chose. */
  readonly id?: string | undefined;
  readonly replaces?: readonly string[] | undefined;
}

/**
 * Keeps a new chat of the actor, and removes those that it replaces; one that is kept already with this id and document
 * is returned and replaces none. Rejects with `chat_not_kept`, with `version_conflict` when the id is taken, and with
 * `changed_meanwhile` when `replaces` is given and others would be replaced.
 */
export async function createChat(
  store: ChatStore,
  actor: AnyActor,
  { id = `chat_${randomBase62(ID_LENGTH)}`, document, title, replaces }: NewChat,
): Promise<{ readonly chat: Chat; readonly replaced: readonly Chat[] }> {
  const { ownerId } = actor.caller;
  // Before the document is sealed; the transaction decides.
  if (store.limit === 0) throw keepsNone();
  const sealed = {
    sealedTitle: store.seals.sealTitle({ id, ownerId }, title),
    sealedDocument: store.seals.sealDocument({ id, ownerId }, document),
  };
  return changeChats(store, actor, async (transaction) => {
    const rows = await readChats(transaction, ownerId);
    const before = rows.find((row) => row.id === id);
    if (before !== undefined) {
      if (!(await hasDocument(store, transaction, before, document))) throw idTaken();
      return { chat: toChat(store, before), replaced: [] };
    }
    const replaced = replacedByNext(rows, store.limit);
    if (replaced === undefined) throw allPinned(rows, store.limit);
    const ids = replaced.map((row) => row.id);
    if (replaces !== undefined && !isSameSet(replaces, ids)) throw replacesOthers();
    if (ids.length > 0) await transaction.delete(table).where(inArray(table.id, ids));
    const now = new Date(store.clock.now());
    const times = { createdAt: now, updatedAt: now };
    const row = { id, ownerId, ...sealed, bytes: document.length, ...times };
    const insertion = transaction.insert(table).values(row).onConflictDoNothing();
    const [made] = await insertion.returning(COLUMNS);
    // By somebody else's chat, of which nothing more is said.
    if (made === undefined) throw idTaken();
    return {
      chat: toChat(store, made),
      replaced: replaced.map((gone) => toChat(store, gone)),
    };
  });
}

/**
 * Saves the document of the actor's own chat. Rejects with `not_found`, with `version_conflict` when another revision
 * was saved meanwhile, and with `chat_not_kept` where no chats are kept.
 */
export async function saveChat(
  store: ChatStore,
  actor: AnyActor,
  save: ChatContent & { readonly id: string; readonly ifRevision: number },
): Promise<Chat> {
  const { ownerId } = actor.caller;
  const { id, document, title, ifRevision } = save;
  if (store.limit === 0) throw keepsNone();
  const sealedDocument = store.seals.sealDocument({ id, ownerId }, document);
  return changeChats(store, actor, async (transaction) => {
    const row = known(await readChat(transaction, ownerId, id));
    const { revision } = row;
    if (revision !== ifRevision) throw otherRevision(revision, ifRevision);
    const isUntitled = store.seals.openTitle(row, row.sealedTitle) === "";
    const change = {
      sealedDocument,
      bytes: document.length,
      revision: revision + 1,
      updatedAt: new Date(store.clock.now()),
      ...(isUntitled && { sealedTitle: store.seals.sealTitle(row, title) }),
    };
    const update = transaction.update(table).set(change).where(eq(table.id, id));
    const [saved] = await update.returning(COLUMNS);
    return toChat(store, known(saved));
  });
}

/** Pins or renames the actor's own chat, which counts as no save. Rejects with `not_found`. */
export function updateChat(
  store: ChatStore,
  actor: AnyActor,
  {
    id,
    pinned,
    title,
  }: {
    readonly id: string;
    readonly pinned?: boolean | undefined;
    readonly title?: string | undefined;
  },
): Promise<Chat> {
  const { ownerId } = actor.caller;
  return changeChats(store, actor, async (transaction) => {
    const row = known(await readChat(transaction, ownerId, id));
    const change = {
      pinned: pinned ?? row.pinned,
      ...(title !== undefined && { sealedTitle: store.seals.sealTitle(row, cleanTitle(title)) }),
    };
    const update = transaction.update(table).set(change).where(eq(table.id, id));
    const [changed] = await update.returning(COLUMNS);
    return toChat(store, known(changed));
  });
}

/** Deletes the actor's own chat. Rejects with `not_found`. */
export function deleteChat(store: ChatStore, actor: AnyActor, id: string): Promise<void> {
  return changeChats(store, actor, async (transaction) => {
    const deletion = transaction.delete(table).where(isOwn(actor.caller.ownerId, id));
    known((await deletion.returning({ id: table.id }))[0]);
  });
}

/** Deletes all of the actor's own chats, pinned ones too. */
export function deleteChats(store: ChatStore, actor: AnyActor): Promise<void> {
  return changeChats(store, actor, async (transaction) => {
    await transaction.delete(table).where(eq(table.ownerId, actor.caller.ownerId));
  });
}

function readChats(db: Db, ownerId: string): Promise<Row[]> {
  return db.select(COLUMNS).from(table).where(eq(table.ownerId, ownerId));
}

async function readChat(db: Db, ownerId: string, id: string): Promise<Row | undefined> {
  return (await db.select(COLUMNS).from(table).where(isOwn(ownerId, id)))[0];
}

async function hasDocument(
  { seals }: ChatStore,
  db: Db,
  row: Row,
  document: Uint8Array,
): Promise<boolean> {
  const columns = { sealedDocument: table.sealedDocument };
  const [found] = await db.select(columns).from(table).where(isOwn(row.ownerId, row.id));
  const stored = found && seals.openDocument(row, found.sealedDocument);
  return stored?.equals(document) ?? false;
}

function isOwn(ownerId: string, id: string): SQL | undefined {
  return and(eq(table.ownerId, ownerId), eq(table.id, id));
}

function toChat({ seals }: ChatStore, { ownerId, sealedTitle, ...row }: Row): Chat {
  return { ...row, title: seals.openTitle({ id: row.id, ownerId }, sealedTitle) ?? null };
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && other.every((id) => one.includes(id));
}

function known<Found>(found: Found | undefined): Found {
  if (found === undefined) throw noChat();
  return found;
}

function noChat(): ServiceError {
  return new ServiceError("not_found", "There is no chat of this id; see GET /api/chats.");
}

function unreadable(): ServiceError {
  return new ServiceError(
    "chat_unreadable",
    "The chat cannot be opened: APP_SECRET has changed since it was saved, or it is damaged. " +
      "Restore the former APP_SECRET, or delete the chat.",
  );
}

function keepsNone(): ServiceError {
  return notKept("this server keeps no chats (CHAT_HISTORY_LIMIT is 0)");
}

/** After the limit was lowered more chats may be pinned than are kept. */
function allPinned(rows: readonly Row[], limit: number): ServiceError {
  const pinned = rows.filter((row) => row.pinned).length;
  return notKept(
    `${rows.length} are kept, ${pinned} of them pinned, and ${limit} are allowed (CHAT_HISTORY_LIMIT); ` +
      `unpin or delete ${pinned + 1 - limit} of the pinned ones`,
  );
}

function notKept(reason: string): ServiceError {
  return new ServiceError("chat_not_kept", `The chat was not kept: ${reason}.`);
}

function idTaken(): ServiceError {
  return new ServiceError(
    "version_conflict",
    "The id is taken by a chat with another document. Read that chat, or choose another id.",
    { param: "id" },
  );
}

function replacesOthers(): ServiceError {
  return new ServiceError(
    "changed_meanwhile",
    "The chats have changed: others than those named would be replaced. Read the list again.",
    { param: "replaces" },
  );
}

function otherRevision(revision: number, expected: number): ServiceError {
  return new ServiceError(
    "version_conflict",
    `The chat is at revision ${revision} now, and was changed from revision ${expected}. Read it again.`,
    { param: "if_revision", ext: { revision } },
  );
}
