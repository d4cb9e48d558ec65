import { z } from "@hono/zod-openapi";
import { cleanTitle, countCharacters, TITLE_MAX_CHARACTERS } from "../chats/chat-title.ts";
import { count, time } from "./fields.ts";
import { chatError } from "./openapi/documentation.ts";
import { byOffset, countedList, page, search } from "./page.ts";

/** Schemas of chats. Fields that a document has beside them are kept, because a later release may have written them. */

/** The texts that each known kind of part has. */
const PART_TEXTS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  thinking: ["text"],
  image: ["data"],
  file: ["name", "text"],
};

const part = z
  .looseObject({ type: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, "the name of a kind of part") })
  .superRefine((given, context) => {
    const names = Object.hasOwn(PART_TEXTS, given.type) ? PART_TEXTS[given.type] : undefined;
    for (const name of names ?? []) {
      const value = given[name];
      if (typeof value !== "string") {
        context.addIssue({ code: "custom", path: [name], message: "a string" });
      } else if (given.type === "image" && !value.startsWith("data:")) {
        context.addIssue({ code: "custom", path: [name], message: "a data: URL" });
      }
    }
  })
  .openapi({
    description:
      "`text` and `thinking` have `text`, `image` has `data` (a data: URL), `file` has `name` and `text`; parts of " +
      "other kinds, such as `tool_run` and `sources`, are kept as they are.",
  });

const message = z.looseObject({
  parent: z.string().nullable().openapi({ description: "The message it follows." }),
  role: z.enum(["user", "assistant"]),
  parts: z.array(part).max(1_000),
  model: z.string().max(300).nullish().openapi({ description: "The model that answered." }),
  at: z.number().min(0).openapi({ description: "Unix milliseconds." }),
  state: z.enum(["done", "stopped", "failed"]),
  usage: z.looseObject({}).nullish(),
  request_id: z.string().max(100).nullish(),
});

const DOCUMENT_EXAMPLE = {
  version: 1 as const,
  model: "qwen3-32b",
  system: "",
  parameters: { temperature: 0.2 },
  leaf: "m2",
  messages: {
    m1: {
      parent: null,
      role: "user" as const,
      parts: [{ type: "text" as const, text: "What does E-4711 mean?" }],
      at: 1_790_000_000_000,
      state: "done" as const,
    },
    m2: {
      parent: "m1",
      role: "assistant" as const,
      parts: [{ type: "text" as const, text: "The pump runs dry." }],
      model: "qwen3-32b",
      at: 1_790_000_003_000,
      state: "done" as const,
      usage: { input_tokens: 14, output_tokens: 6 },
      request_id: "req_mfwhvx1cQk3v9QmT00001",
    },
  },
};

const chatDocument = z
  .looseObject({
    version: z.literal(1),
    model: z.string().max(300),
    system: z.string(),
    parameters: z.looseObject({}),
    leaf: z.string().nullable().openapi({
      description: "The last message of the branch in view; null without messages.",
    }),
    messages: z.record(z.string(), message).openapi({
      description:
        "A tree: `m1`, `m2` and so on, each with its parent. Edits and retries are siblings. At most 10,000.",
    }),
  })
  .openapi("ChatDocument", { example: DOCUMENT_EXAMPLE });

const chatId = z.string().regex(/^chat_[A-Za-z0-9]{22}$/, "the id of a chat");

export const newChat = z
  .strictObject({
    document: chatDocument,
    id: chatId.optional().openapi({
      description:
        "An id of its own, of random characters, with which a call can be repeated whose answer was lost: the chat that " +
        "has it and the same document is answered, and nothing is replaced. Taken otherwise: 409 `version_conflict`.",
    }),
    replaces: z
      .array(chatId)
      .max(50)
      .optional()
      .openapi({
        description:
          "The chats of `next_replaced`, as they were announced. If others would be replaced, nothing is (409 " +
          "`changed_meanwhile`).",
      }),
  })
  .openapi("NewChat", {
    example: { document: DOCUMENT_EXAMPLE, id: "chat_3v9QmTq2LxZ8cR5nYb7KdW", replaces: [] },
  });

export const chatSave = z
  .strictObject({
    document: chatDocument,
    if_revision: z.int().min(1).openapi({
      description: "The revision that was changed. Another one is stored: 409 `version_conflict`.",
    }),
  })
  .openapi("ChatSave", { example: { document: DOCUMENT_EXAMPLE, if_revision: 1 } });

const isTitle = (text: string) =>
  cleanTitle(text) !== "" && countCharacters(text) <= TITLE_MAX_CHARACTERS;

export const chatChange = z
  .strictObject({
    pinned: z
      .boolean()
      .optional()
      .openapi({ description: "A pinned chat never gives way to another." }),
    title: z
      .string()
      .refine(isTitle, `a title of 1 to ${TITLE_MAX_CHARACTERS} characters`)
      .optional()
      .openapi({ minLength: 1, maxLength: TITLE_MAX_CHARACTERS }),
  })
  .openapi("ChatChange", { example: { pinned: true } });

const fields = {
  id: z.string(),
  object: z.literal("chat"),
  title: z
    .string()
    .nullable()
    .openapi({
      description:
        "The first 60 characters of the first question, or as it was renamed. Null when it cannot be opened, because " +
        "APP_SECRET has changed.",
    }),
  pinned: z.boolean(),
  revision: z.int().min(1).openapi({ description: "Raised by each save of the document." }),
  bytes: count.openapi({ description: "Length of the document as JSON; at most 4 MiB." }),
  created_at: time,
  updated_at: time.openapi({
    description: "The last save of the document; pinning and renaming leave it.",
  }),
};
const EXAMPLE = {
  id: "chat_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "chat" as const,
  title: "What does E-4711 mean?",
  pinned: false,
  revision: 2,
  bytes: 412,
  created_at: "2026-11-24T13:33:20.000Z",
  updated_at: "2026-11-24T13:33:29.000Z",
};

export const chat = z.object(fields).openapi("Chat", { example: EXAMPLE });
/** A `Chat` with its document, which is written as it is stored. */
export const chatWithDocument = z
  .object({ ...fields, document: chatDocument })
  .openapi("ChatWithDocument", { example: { ...EXAMPLE, document: DOCUMENT_EXAMPLE } });

const replacedChat = z.object({ id: fields.id, title: fields.title }).openapi("ReplacedChat", {
  example: { id: "chat_8cR5nYb7KdW3v9QmTq2LxZ", title: "Offer text" },
});
export const keptChat = z
  .object({
    ...fields,
    replaced: z
      .array(replacedChat)
      .openapi({ description: "The chats that gave way to it, and are gone." }),
  })
  .openapi("KeptChat", { example: { ...EXAMPLE, revision: 1, replaced: [] } });

export const chatList = countedList(chat)
  .extend({
    kept: count.openapi({ description: "How many chats the caller has, whatever was searched." }),
    pinned: count.openapi({ description: "How many of these are pinned." }),
    limit: count.openapi({
      description: "How many are kept, CHAT_HISTORY_LIMIT; 0 keeps none: every chat is temporary.",
    }),
    keeps_next: z.boolean().openapi({
      description:
        "False when the next chat is not kept: none are, or as many as the limit are pinned.",
    }),
    next_replaced: z.array(replacedChat).openapi({
      description:
        "What the next chat will replace: the chat saved longest ago that is not pinned, once the limit is reached. " +
        "More than one only after the limit was lowered.",
    }),
  })
  .openapi("ChatList");

/** Describes the 409 of a save. */
export const saveConflict = {
  description:
    "Another revision was saved meanwhile (`version_conflict`, with the current one in `ext.revision`), or no chats are " +
    "kept (`chat_not_kept`).",
  content: {
    "application/json": {
      schema: chatError
        .extend({ ext: z.object({ revision: fields.revision }).optional() })
        .openapi("ChatConflict"),
    },
  },
};

export const chatQuery = page(
  { search: search("Words of the title, in any order, without regard to case.") },
  byOffset,
);
