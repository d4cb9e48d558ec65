import { z } from "zod";
import { flag, fraction, milliseconds, name, number, positive } from "./setting-types.ts";

const MIB = 1024 * 1024;

/** Assistants, their tools, and the knowledge that they answer from. */
export const assistantSettings = {
  FILES_DIR: name
    .optional()
    .describe("Folder of uploaded files, shared by all replicas; defaults to DATA_DIR/files."),
  FILE_MAX_BYTES: positive
    .max(4 * 1024 * MIB)
    .default(100 * MIB)
    .describe("Largest uploaded file."),
  INGEST_CONCURRENCY: number
    .min(0)
    .max(64)
    .default(2)
    .describe(
      "Files that a replica reads and embeds at once; 0 leaves that work to other replicas.",
    ),
  EMBEDDING_QUERY_PREFIX: name
    .optional()
    .describe(
      "Text before each question that is embedded; unset uses what the embedding model was trained with.",
    ),
  EMBEDDING_DOCUMENT_PREFIX: name
    .optional()
    .describe(
      "Text before each passage that is embedded; unset uses what the embedding model was trained with.",
    ),
  RAG_TOP_K: positive
    .max(50)
    .default(8)
    .describe("Passages that an assistant's question is answered from."),
  RAG_MIN_SIMILARITY: fraction
    .min(0)
    .max(1)
    .default(0.35)
    .describe("Cosine from which a passage counts as related to the question."),
  RAG_CHUNK_SIZE: positive
    .min(50)
    .max(20_000)
    .default(500)
    .describe("Characters of a passage at most."),
  RAG_CHUNK_OVERLAP: number
    .min(0)
    .max(10_000)
    .default(100)
    .describe(
      "Characters that a passage shares with the one before it; at most half of RAG_CHUNK_SIZE.",
    ),
  RAG_GROUNDING_MODE: z
    .enum(["off", "prefer", "strict"])
    .default("prefer")
    .describe(
      "How far answers keep to the passages: off adds them only, prefer asks for citations, strict answers from nothing else.",
    ),
  RAG_MEMORY_MB: positive
    .max(1_048_576)
    .default(512)
    .describe("Megabytes of vectors and words that are held in memory for search."),
  ASSISTANT_MAX_TURNS: positive
    .max(100)
    .default(10)
    .describe("Model calls of one assistant's answer at most; the last one has no tools."),
  ASSISTANT_MAX_TOOL_CALLS: positive
    .max(1_000)
    .default(64)
    .describe("Tool calls of one assistant's answer at most."),
  TOOL_TIMEOUT_MS: milliseconds
    .max(3_600_000)
    .default(60_000)
    .describe("Time limit of one tool call."),
  TOOL_RESULT_MAX_BYTES: positive
    .max(16 * MIB)
    .default(65_536)
    .describe("Bytes of a tool's result that a model gets; the rest is cut, with a note."),
  WORKSPACE_DIR: name
    .optional()
    .describe(
      "Folder that tools read, and that write_file and execute_shell write to; defaults to DATA_DIR/workspace.",
    ),
  TOOL_QUERY_SQL_MAX_ROWS: positive
    .max(10_000)
    .default(200)
    .describe("Rows that query_sql returns at most."),
  TOOL_SHELL_ENABLED: flag
    .default(false)
    .describe(
      "Offers execute_shell, which runs commands of a model in WORKSPACE_DIR, in a sandbox without network; needs bubblewrap.",
    ),
};
