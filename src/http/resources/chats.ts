import { setImmediate as nextTurn } from "node:timers/promises";
import type { z } from "zod";
import { titleOf } from "../../chats/chat-title.ts";
import { findTreeFault, MESSAGES_MAX, wordsOfTitle } from "../../chats/chat-tree.ts";
import {
  type Chat,
  type ChatContent,
  createChat,
  deleteChat,
  deleteChats,
  findChat,
  listChats,
  saveChat,
  updateChat,
} from "../../chats/chats.ts";
import { invalidValue, parseRequest } from "../../codecs/shared/check-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { rawMember } from "../../lib/json/raw-json.ts";
import { valueAt } from "../../lib/json/value-faults.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { readJsonBody } from "../bodies/read-json-body.ts";
import {
  chat,
  chatChange,
  chatList,
  chatQuery,
  chatSave,
  chatWithDocument,
  keptChat,
  newChat,
  saveConflict,
} from "../chat-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const DOCUMENT_MAX_BYTES = 4 * 1024 * 1024;
/** What a body has beside its document. */
const ENVELOPE_BYTES = 64 * 1024;

const COLLECTION = {
  path: "/api/chats",
  access: "session",
  // A chat is its owner's alone.
  tokens: "closed",
  tag: "Chats",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "The caller has no such chat." };

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listChats",
  summary: "List one's own chats",
  description: "The newest first, without their documents.",
  query: chatQuery,
  answer: { description: "A page of the chats.", schema: chatList },
});
const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createChat",
  summary: "Keep a new chat",
  description:
    "A document of 4 MiB at most. Once CHAT_HISTORY_LIMIT chats are kept, the one saved longest ago that is not pinned " +
    "gives way; `next_replaced` of the list announces it.",
  body: newChat,
  answer: { status: 201, description: "The chat, and those that gave way.", schema: keptChat },
  errors: {
    409: "It was not kept (`chat_not_kept`), others would be replaced (`changed_meanwhile`), or its id is taken (`version_conflict`).",
  },
});
const DELETE_ALL = resourceRoute({
  ...COLLECTION,
  method: "delete",
  operationId: "deleteChats",
  summary: "Delete all of one's own chats",
  description: "Pinned ones too.",
  answer: { status: 204, description: "The caller has no chats." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getChat",
  summary: "Show one chat with its document",
  answer: { description: "The chat.", schema: chatWithDocument },
  errors: { ...unknown, 409: "It cannot be opened (`chat_unreadable`): APP_SECRET has changed." },
});
const SAVING = resourceRoute({
  ...ONE,
  method: "put",
  operationId: "saveChat",
  summary: "Save the document of a chat",
  body: chatSave,
  answer: { description: "The chat as it is now.", schema: chat },
  errors: unknown,
});
const SAVE = { ...SAVING, responses: { ...SAVING.responses, 409: saveConflict } };
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateChat",
  summary: "Pin or rename a chat",
  body: chatChange,
  answer: { description: "The chat as it is now.", schema: chat },
  errors: unknown,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteChat",
  summary: "Delete a chat",
  answer: { status: 204, description: "The chat is gone." },
  errors: unknown,
});

/** `/api/chats`: the chats of the console, each for its owner by session alone. */
export function chatsRoutes(deps: Deps): Router {
  const { chats } = deps;
  const router = createRouter(deps);
  router.add(LIST, async (context, { ownerId }) => {
    const { search, limit, offset } = readQuery(context, chatQuery);
    const { chats: all, replacedByNext } = await listChats(chats, ownerId);
    const found = all.filter(({ title }) => hasWords(title, search));
    const shown = {
      data: found.slice(offset, offset + limit),
      total: found.length,
      kept: all.length,
      pinned: all.filter(({ pinned }) => pinned).length,
      limit: chats.limit,
      keepsNext: replacedByNext !== undefined,
      nextReplaced: replacedByNext ?? [],
    };
    return jsonResponse(toJson(chatList, shown));
  });
  router.add(CREATE, (context, caller) =>
    withOpenBody(deps, context, async (open) => {
      const { body, content } = await readContent(deps, context, { schema: newChat, open });
      const given = { ...content, id: body.id, replaces: body.replaces };
      const made = await createChat(chats, actorOf(context, caller), given);
      return jsonResponse(toJson(keptChat, { ...made.chat, replaced: made.replaced }), 201);
    }),
  );
  router.add(DELETE_ALL, async (context, caller) => {
    await deleteChats(chats, actorOf(context, caller));
    return new Response(null, { status: 204 });
  });
  router.add(FIND, async (context, { ownerId }) => {
    const found = await findChat(chats, ownerId, idOf(context));
    return documentResponse(found.chat, found.document);
  });
  router.add(SAVE, (context, caller) =>
    withOpenBody(deps, context, async (open) => {
      const { body, content } = await readContent(deps, context, { schema: chatSave, open });
      const save = { ...content, id: idOf(context), ifRevision: body.if_revision };
      return chatResponse(await saveChat(chats, actorOf(context, caller), save));
    }),
  );
  router.add(UPDATE, async (context, caller) => {
    const change = toRecord(await readCheckedBody(context, chatChange));
    const asked = { ...change, id: idOf(context) };
    return chatResponse(await updateChat(chats, actorOf(context, caller), asked));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteChat(chats, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  return router;
}

/** Counts the body among those in memory until it is stored. */
async function withOpenBody(
  { openCalls }: Pick<Deps, "openCalls">,
  { req }: RequestContext,
  work: (open: OpenCall) => Promise<Response>,
): Promise<Response> {
  const open = openCalls.open(req.raw.signal);
  try {
    return await work(open);
  } finally {
    open.close();
  }
}

/**
 * Reads a body with a document, which is stored in the characters it came in. Between the steps other requests are
 * served, because each of them takes milliseconds for a document of megabytes.
 */
async function readContent<
  Schema extends z.ZodType<{ readonly document: z.infer<typeof newChat>["document"] }>,
>(
  { settings }: Pick<Deps, "settings">,
  { req }: RequestContext,
  { schema, open }: { readonly schema: Schema; readonly open: OpenCall },
): Promise<{ readonly body: z.output<Schema>; readonly content: ChatContent }> {
  const { body, text } = await readJsonBody(req.raw, {
    maxBytes: DOCUMENT_MAX_BYTES + ENVELOPE_BYTES,
    isFixed: true,
    maxDepth: settings.MAX_JSON_DEPTH,
    signal: open.signal,
    hold: (bytes) => open.holdBody(bytes),
  });
  refuseManyMessages(body);
  const parsed = parseRequest(schema, body);
  await nextTurn();
  const { document } = body as z.infer<typeof newChat>;
  const fault = findTreeFault(document);
  if (fault !== undefined) {
    const received = valueAt(document, fault.path);
    throw invalidValue(["document", ...fault.path], fault.expected, received);
  }
  await nextTurn();
  const stored = Buffer.from(rawMember(text, "document") ?? "");
  if (stored.length > DOCUMENT_MAX_BYTES) throw tooLarge();
  await nextTurn();
  return { body: parsed, content: { document: stored, title: titleOf(wordsOfTitle(document)) } };
}

/** Before the schema, which would list the faults of all of them. */
function refuseManyMessages(body: unknown): void {
  const { document } = isJsonObject(body) ? body : {};
  const { messages } = isJsonObject(document) ? document : {};
  if (!isJsonObject(messages) || Object.keys(messages).length <= MESSAGES_MAX) return;
  throw invalidValue(["document", "messages"], `at most ${MESSAGES_MAX} messages`, messages);
}

function tooLarge(): ServiceError {
  return new ServiceError(
    "request_too_large",
    `The document is larger than ${DOCUMENT_MAX_BYTES} bytes; begin another chat.`,
    { param: "document" },
  );
}

function hasWords(title: string | null, search = ""): boolean {
  const folded = fold(title ?? "");
  return fold(search)
    .split(/\s+/)
    .every((word) => folded.includes(word));
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function chatResponse(shown: Chat): Response {
  return jsonResponse(toJson(chat, shown));
}

/** Puts the stored document into the answer as it is: parsing and writing it again would hold the event loop. */
function documentResponse(shown: Chat, document: Buffer): Response {
  const fields = JSON.stringify(toJson(chat, shown));
  const body = Buffer.concat([
    Buffer.from(`${fields.slice(0, -1)},"document":`),
    document,
    Buffer.from("}"),
  ]);
  return new Response(body, {
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });
}
