import { z } from "@hono/zod-openapi";
import { invalidValue } from "../codecs/shared/check-request.ts";
import { EFFORTS, parseEffort } from "../core/chat/effort.ts";
import { VECTOR_STORE_ID } from "../core/file-search.ts";
import { coversName, EVERY_NAME } from "../core/name-patterns.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Assistant } from "../knowledge/assistants/assistant.ts";
import type { AssistantPatch } from "../knowledge/assistants/assistant-record.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { searchText } from "./fields.ts";
import { printableName } from "./key-fields.ts";

/** An assistant as clients send and see it: the object of OpenAI's assistants with our fields in `ext`. */

const MAX_FORMAT_LENGTH = 65_536;
const MAX_TOOLS = 128;
const MAX_CONNECTIONS = 64;
const MAX_METADATA = 16;
/** NUL and lone surrogates, as JSON escapes them, which the database's JSON does not take. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;
const TOOL_PATTERN = /^(?:[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{0,63}\*)$/;

const isStorable = (value: unknown) => !UNSTORABLE.test(JSON.stringify(value));

const tool = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("file_search"), file_search: z.strictObject({}).optional() }),
  z.strictObject({
    type: z.literal("function"),
    function: z
      .looseObject({ name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "the name of a tool") })
      .openapi({ description: "A tool of this service; its description is not the client's." }),
  }),
]);

const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA, `at most ${MAX_METADATA} pairs`)
  .refine(isStorable, "text without NUL")
  .nullable();

const responseFormat = z.union([
  z.literal("auto"),
  z
    .strictObject({
      type: z.enum(["text", "json_object", "json_schema"]),
      json_schema: z.record(z.string(), z.unknown()).optional(),
    })
    .refine((format) => JSON.stringify(format).length <= MAX_FORMAT_LENGTH, "a shorter format")
    .refine(isStorable, "text without NUL"),
]);

const toolNames = z
  .array(z.string().regex(TOOL_PATTERN, "the name of a tool, or its beginning and '*'"))
  .max(MAX_TOOLS);
const connectionNames = z.array(printableName).max(MAX_CONNECTIONS);

const ext = z.strictObject({
  visibility: z
    .enum(["private", "everyone"])
    .openapi({ description: "Who may use it beside its owner; administrators share." }),
  tools: toolNames.openapi({ description: "Names of tools, or patterns with a trailing `*`." }),
  max_level: z
    .enum(["read_only", "write", "full_auto"])
    .openapi({ description: "What its tools may do at most." }),
  sql_connections: connectionNames.openapi({
    description: "The saved database connections that its tools may read.",
  }),
  file_connections: connectionNames.openapi({
    description: "The folders of the server that its tools may read.",
  }),
  grounding: z
    .enum(["off", "prefer", "strict"])
    .nullable()
    .openapi({
      description:
        "`off` only adds the passages, `prefer` asks the model to cite them, `strict` answers from nothing else. " +
        "Null: RAG_GROUNDING_MODE.",
    }),
  top_k: z
    .int()
    .min(1)
    .max(50)
    .nullable()
    .openapi({ description: "How many passages a question gets at most. Null: RAG_TOP_K." }),
  min_similarity: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .openapi({ description: "The cosine from which a passage counts. Null: RAG_MIN_SIMILARITY." }),
  no_answer_text: searchText(4_096)
    .nullable()
    .openapi({ description: "The answer of `strict` when nothing is found." }),
});

/** A body that creates or changes an assistant. Fields that are not sent stay as they are. */
export const assistantBody = z
  .strictObject({
    model: searchText(256)
      .nullable()
      .optional()
      .openapi({ description: "A chat model of GET /v1/models; null is the default one." }),
    name: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[^\p{Cc}\p{Cs}]+$/u, "a text without control characters")
      .nullable()
      .optional()
      // The documentation has no flags, and lone surrogates cannot occur there.
      .openapi({
        description: "Unique, whatever its case, and no listed model's. Unset: the id.",
        pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
      }),
    description: searchText(512).nullable().optional(),
    instructions: searchText(256_000)
      .nullable()
      .optional()
      .openapi({ description: "Stand before the system messages of the client." }),
    tools: z.array(tool).max(MAX_TOOLS).optional().openapi({
      description:
        "`file_search` says nothing that `tool_resources` does not; for functions see `ext.tools`.",
    }),
    tool_resources: z
      .strictObject({
        file_search: z
          .strictObject({
            vector_store_ids: z
              .array(z.string().regex(VECTOR_STORE_ID, "the id of a vector store"))
              .max(20)
              .optional()
              .openapi({ description: "The vector stores that it answers from." }),
            vector_stores: z.array(z.unknown()).optional().openapi({ description: "Refused." }),
          })
          .optional(),
      })
      .nullable()
      .optional(),
    metadata: metadata.optional(),
    temperature: z.number().min(0).max(2).nullable().optional(),
    top_p: z.number().min(0).max(1).nullable().optional(),
    reasoning_effort: z
      .enum([...EFFORTS, "minimal", "xhigh"])
      .nullable()
      .optional(),
    response_format: responseFormat.nullable().optional(),
    ext: ext.partial().optional(),
  })
  .openapi("AssistantFields", {
    example: {
      name: "Support",
      instructions: "Answer in the customer's language.",
      tool_resources: { file_search: { vector_store_ids: ["vs_3v9QmTq2LxZ8cR5nYb7KdW"] } },
      ext: { grounding: "strict" },
    },
  });
export type AssistantBody = z.output<typeof assistantBody>;

/** An assistant in an answer. */
export const assistantSchema = z
  .object({
    id: z.string(),
    object: z.literal("assistant"),
    created_at: z.int().openapi({ description: "Unix seconds." }),
    name: z.string().nullable(),
    description: z.string().nullable(),
    model: z.string().nullable(),
    instructions: z.string().nullable(),
    tools: z.array(
      z.object({
        type: z.enum(["file_search", "function"]),
        function: z.object({ name: z.string() }).optional(),
      }),
    ),
    tool_resources: z.object({
      file_search: z.object({ vector_store_ids: z.array(z.string()) }).optional(),
    }),
    metadata: z.record(z.string(), z.string()),
    temperature: z.number().nullable(),
    top_p: z.number().nullable(),
    reasoning_effort: z.enum(EFFORTS).nullable(),
    response_format: responseFormat,
    ext: z.object({
      slug: z.string().openapi({ description: "Another name, which never changes." }),
      owner_id: z.string().nullable().openapi({ description: "Null once the user is deleted." }),
      ...ext.shape,
    }),
  })
  .openapi("Assistant", {
    example: {
      id: "asst_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "assistant",
      created_at: 1_790_000_000,
      name: "Support",
      description: null,
      model: null,
      instructions: "Answer in the customer's language.",
      tools: [{ type: "file_search" }],
      tool_resources: { file_search: { vector_store_ids: ["vs_3v9QmTq2LxZ8cR5nYb7KdW"] } },
      metadata: {},
      temperature: null,
      top_p: null,
      reasoning_effort: null,
      response_format: "auto",
      ext: {
        slug: "support",
        owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
        visibility: "private",
        tools: [],
        max_level: "read_only",
        sql_connections: [],
        file_connections: [],
        grounding: "strict",
        top_k: null,
        min_similarity: null,
        no_answer_text: null,
      },
    },
  });

/**
 * Converts a body to the fields of a record. `tools` gives the exact names and leaves the patterns of the record; beside
 * `ext.tools` it may only repeat what that has.
 *
 * @param before are the record's tools.
 */
export function fieldsOfBody(body: AssistantBody, before: readonly string[]): AssistantPatch {
  const { ext: more = {} } = body;
  return {
    model: body.model,
    name: body.name,
    description: body.description,
    instructions: body.instructions,
    tools: toolsOf(body, before),
    vectorStoreIds: storesOf(body),
    metadata: body.metadata === null ? {} : body.metadata,
    temperature: body.temperature,
    topP: body.top_p,
    reasoningEffort: body.reasoning_effort && parseEffort(body.reasoning_effort),
    responseFormat: body.response_format === "auto" ? null : (body.response_format as JsonObject),
    visibility: more.visibility,
    maxLevel: more.max_level,
    sqlConnections: unique(more.sql_connections),
    fileConnections: unique(more.file_connections),
    grounding: more.grounding,
    topK: more.top_k,
    minSimilarity: more.min_similarity,
    noAnswerText: more.no_answer_text,
  };
}

function toolsOf({ tools, ext: more }: AssistantBody, before: readonly string[]) {
  const patterns = unique(more?.tools);
  if (tools === undefined) return patterns;
  const names = tools.flatMap((each) => (each.type === "function" ? [each.function.name] : []));
  if (patterns === undefined) {
    return unique([...names, ...before.filter((name) => name.endsWith(EVERY_NAME))]);
  }
  const unlike = names.find((name) => !coversName(patterns, name));
  if (unlike === undefined) return patterns;
  throw invalidValue(["tools"], "no function beside those that 'ext.tools' names", unlike);
}

function storesOf({ tool_resources: resources }: AssistantBody): readonly string[] | undefined {
  if (resources === null) return [];
  const { vector_stores: inline, vector_store_ids: ids } = resources?.file_search ?? {};
  if (inline !== undefined && inline.length > 0) {
    throw new ServiceError(
      "unsupported_parameter",
      "An assistant does not create vector stores. Create one with POST /v1/vector_stores, and send its id in `vector_store_ids`.",
      { param: "tool_resources.file_search.vector_stores" },
    );
  }
  return unique(ids);
}

function unique(names: readonly string[] | undefined): readonly string[] | undefined {
  return names && [...new Set(names)];
}

/** Renders an assistant. `tools` mirrors its knowledge and the exact names of `ext.tools`. */
export function assistantJson(assistant: Assistant): JsonObject {
  const { tools, vectorStoreIds: stores } = assistant;
  const names = tools.filter((name) => !name.endsWith(EVERY_NAME));
  return {
    id: assistant.id,
    object: "assistant",
    created_at: Math.floor(assistant.createdAt.getTime() / 1_000),
    name: assistant.name,
    description: assistant.description,
    model: assistant.model,
    instructions: assistant.instructions,
    tools: [
      ...(stores.length > 0 ? [{ type: "file_search" }] : []),
      ...names.map((name) => ({ type: "function", function: { name } })),
    ],
    tool_resources: stores.length > 0 ? { file_search: { vector_store_ids: stores } } : {},
    metadata: assistant.metadata,
    temperature: assistant.temperature,
    top_p: assistant.topP,
    reasoning_effort: assistant.reasoningEffort,
    response_format: assistant.responseFormat ?? "auto",
    ext: {
      slug: assistant.slug,
      owner_id: assistant.ownerId,
      visibility: assistant.visibility,
      tools,
      max_level: assistant.maxLevel,
      sql_connections: assistant.sqlConnections,
      file_connections: assistant.fileConnections,
      grounding: assistant.grounding,
      top_k: assistant.topK,
      min_similarity: assistant.minSimilarity,
      no_answer_text: assistant.noAnswerText,
    },
  };
}
