import { z } from "@hono/zod-openapi";
import type { NewStoreFile } from "../knowledge/stores/add-files.ts";
import { count, pairs, storableText } from "./fields.ts";

/** Fields that vector stores, their files and their batches share. */

const MAX_FILES = 500;
const MIN_CHUNK_TOKENS = 100;
const MAX_CHUNK_TOKENS = 4_096;

export const COLLECTION = {
  path: "/v1/vector_stores",
  access: "caller",
  tag: "Vector stores",
} as const;
export const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;

export const FORBIDDEN = {
  403: "The key is bound to an assistant, the store is only shared with the caller, or it takes an administrator.",
};
export const NO_STORE = { 404: "There is no such vector store for the caller." };

/** The id of a file in a body. */
export const fileId = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, "the id of a file")
  .openapi({ example: "file-3v9QmTq2LxZ8cR5nYb7KdW" });

export const fileIds = z.array(fileId).max(MAX_FILES);

export const attributes = pairs(z.union([storableText(512), z.number(), z.boolean()])).openapi({
  description:
    "Up to 16 pairs by which a search can filter: names of up to 64 characters; texts of up to 512, numbers, booleans.",
  example: { department: "sales", year: 2026 },
});

const staticStrategy = z.strictObject({
  max_chunk_size_tokens: z.int().min(MIN_CHUNK_TOKENS).max(MAX_CHUNK_TOKENS),
  chunk_overlap_tokens: z
    .int()
    .min(0)
    .max(MAX_CHUNK_TOKENS / 2),
});

/** Decoded to the strategy; null is `auto`. */
export const chunkingStrategy = z
  .union([
    z.strictObject({ type: z.literal("auto") }),
    z.strictObject({
      type: z.literal("static"),
      static: staticStrategy.refine(
        (given) => given.chunk_overlap_tokens <= given.max_chunk_size_tokens / 2,
        "an overlap of at most half of `max_chunk_size_tokens`",
      ),
    }),
  ])
  .openapi({
    description:
      "How the files are split. `auto` takes RAG_CHUNK_SIZE and RAG_CHUNK_OVERLAP; a token counts as four characters.",
    example: { type: "static", static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } },
  });

type ChunkingField = z.output<typeof chunkingStrategy> | undefined;

/** A folder of a file connection. */
export const folder = z
  .strictObject({
    file_connection: storableText(200).min(1),
    glob: storableText(1_000).min(1).openapi({ example: "manuals/**/*.pdf" }),
  })
  .openapi({ description: "Only administrators name folders." });

export const fileCounts = z.object({
  in_progress: count,
  completed: count,
  failed: count,
  cancelled: count,
  total: count,
});

/** Returns a file as the verbs of stores take it. */
export function newStoreFile(file: {
  readonly file_id: string;
  readonly attributes?: NewStoreFile["attributes"] | null | undefined;
  readonly chunking_strategy?: ChunkingField;
}): NewStoreFile {
  return {
    fileId: file.file_id,
    attributes: file.attributes ?? {},
    chunking: strategyOf(file.chunking_strategy),
  };
}

function strategyOf(field: ChunkingField): NewStoreFile["chunking"] {
  return field?.type === "static" ? field.static : null;
}
