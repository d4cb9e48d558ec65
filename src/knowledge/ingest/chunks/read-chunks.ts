import type { Settings } from "../../../config/settings.ts";
import type { ChunkingStrategy, files } from "../../../db/tables/knowledge.ts";
import { type FileStore, findOriginal } from "../../files/files.ts";
import { openDocumentReader } from "../../readers/open-document-reader.ts";
import { type Chunk, embeddedText, splitChunks } from "./split-chunks.ts";

/** OpenAI's sizes are in tokens. */
const CHARACTERS_A_TOKEN = 4;
/** Files that a replica without workers would read at once. */
const LEAST_PROCESSES = 1;

/** The file whose original is read. */
export type ReadFile = Pick<typeof files.$inferSelect, "filename" | "sha256" | "bytes"> & {
  readonly chunking: ChunkingStrategy | null;
};

/** A piece of a file, with the text that stands for it in a search. */
export interface FileChunk extends Chunk {
  /** The text with the file's name and the headings: it is embedded, and its words are indexed. */
  readonly embedded: string;
}

/**
 * Reads a file's original and splits its text: the same chunks each time, until a setting changes. Rejects with
 * `UnreadableFile`, with `storage_unavailable` while the original is missing, and with the signal's reason.
 */
export type ReadChunks = (file: ReadFile, signal: AbortSignal) => Promise<readonly FileChunk[]>;

export interface ChunkReader {
  readonly readChunks: ReadChunks;
  readonly close: () => void;
}

/** Opens the processes that read documents, as many as files are ingested at once. */
export function openChunkReader(
  {
    INGEST_CONCURRENCY,
    RAG_CHUNK_SIZE,
    RAG_CHUNK_OVERLAP,
  }: Pick<Settings, "INGEST_CONCURRENCY" | "RAG_CHUNK_SIZE" | "RAG_CHUNK_OVERLAP">,
  originals: Pick<FileStore, "originals">,
): ChunkReader {
  const processes = Math.max(LEAST_PROCESSES, INGEST_CONCURRENCY);
  const reader = openDocumentReader({ processes, isBackground: true });
  const automatic = { size: RAG_CHUNK_SIZE, overlap: RAG_CHUNK_OVERLAP };
  return {
    async readChunks(file, signal) {
      const { filename, chunking } = file;
      const path = await findOriginal(originals, file);
      const options = chunking === null ? automatic : inCharacters(chunking);
      const chunks: FileChunk[] = [];
      for await (const batch of splitChunks(reader.read({ path, filename }, signal), options)) {
        for (const chunk of batch)
          chunks.push({ ...chunk, embedded: embeddedText(filename, chunk) });
      }
      return chunks;
    },
    close: reader.close,
  };
}

function inCharacters({ max_chunk_size_tokens, chunk_overlap_tokens }: ChunkingStrategy) {
  return {
    size: max_chunk_size_tokens * CHARACTERS_A_TOKEN,
    overlap: chunk_overlap_tokens * CHARACTERS_A_TOKEN,
  };
}
