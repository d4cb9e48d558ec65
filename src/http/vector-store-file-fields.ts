import { z } from "@hono/zod-openapi";
import type { Deps } from "../deps.ts";
import type { StoreFile } from "../knowledge/stores/store-files.ts";
import { cursorList, cursorQuery } from "./cursor-list.ts";
import { count, unixSeconds } from "./fields.ts";
import { attributes } from "./vector-store-fields.ts";

/** A file of a vector store, as answers show it. */

const STATUSES = ["in_progress", "completed", "failed", "cancelled"] as const;
const CHARACTERS_A_TOKEN = 4;
const CANCELLED = {
  errorCode: "server_error",
  errorMessage: "The batch of this file was cancelled. Add the file to the vector store again.",
} as const;

export const storeFile = z
  .object({
    id: z.string().openapi({ description: "The id of the file." }),
    object: z.literal("vector_store.file"),
    created_at: unixSeconds,
    vector_store_id: z.string(),
    usage_bytes: count,
    status: z.enum(STATUSES),
    last_error: z
      .object({
        code: z.enum(["server_error", "unsupported_file", "invalid_file"]),
        message: z.string(),
      })
      .nullable(),
    attributes,
    chunking_strategy: z
      .object({
        type: z.literal("static"),
        static: z.object({
          max_chunk_size_tokens: z.int(),
          chunk_overlap_tokens: z.int(),
        }),
      })
      .openapi({ description: "`auto` shows as the sizes that it stands for." }),
    ext: z.object({
      filename: z.string(),
      bytes: count.openapi({ description: "Of the file as it was uploaded." }),
      progress: z.object({
        chunks_done: count,
        chunks_total: count.nullable().openapi({ description: "Null until the file was read." }),
      }),
    }),
  })
  .openapi("VectorStoreFile", {
    example: {
      id: "file-3v9QmTq2LxZ8cR5nYb7KdW",
      object: "vector_store.file",
      created_at: 1_790_000_000,
      vector_store_id: "vs_3v9QmTq2LxZ8cR5nYb7KdW",
      usage_bytes: 40_960,
      status: "completed",
      last_error: null,
      attributes: { year: 2026 },
      chunking_strategy: {
        type: "static",
        static: { max_chunk_size_tokens: 125, chunk_overlap_tokens: 25 },
      },
      ext: {
        filename: "manual.pdf",
        bytes: 48_211,
        progress: { chunks_done: 12, chunks_total: 12 },
      },
    },
  });

export const fileList = cursorList(storeFile).openapi("VectorStoreFileList");
export const fileQuery = cursorQuery({
  filter: z.enum(STATUSES).optional().openapi({ description: "Only the files of this status." }),
});

/**
 * Returns the record of a file that is shown by itself. One that was cancelled shows as failed, because clients that
 * wait for one file know no other end.
 */
export function singleRecord(deps: Pick<Deps, "settings">, row: StoreFile) {
  if (row.status !== "cancelled") return fileRecord(deps, row);
  return fileRecord(deps, { ...row, ...CANCELLED, status: "failed" });
}

/** Returns the record of a file in a list. */
export function fileRecord({ settings }: Pick<Deps, "settings">, row: StoreFile) {
  const { errorCode: code, errorMessage, chunking, chunksDone, chunksTotal } = row;
  const { filename, bytes } = row;
  return {
    ...row,
    id: row.fileId,
    lastError: code === null ? null : { code, message: errorMessage ?? "" },
    chunkingStrategy: {
      static: {
        maxChunkSizeTokens: chunking?.max_chunk_size_tokens ?? tokens(settings.RAG_CHUNK_SIZE),
        chunkOverlapTokens: chunking?.chunk_overlap_tokens ?? tokens(settings.RAG_CHUNK_OVERLAP),
      },
    },
    ext: { filename, bytes, progress: { chunksDone, chunksTotal } },
  };
}

function tokens(characters: number): number {
  return Math.round(characters / CHARACTERS_A_TOKEN);
}
