import type { Settings } from "../../../config/settings.ts";
import type { ChunkingStrategy, files } from "../../../db/tables/knowledge.ts";
import { type FileStore, findOriginal } from "../../files/files.ts";
import { openDocumentReader } from "../../readers/open-document-reader.ts";
import { UnreadableFile } from "../../readers/reader.ts";
import { type Chunk, splitChunks } from "./split-chunks.ts";

/** OpenAI's sizes are in tokens. */
const CHARACTERS_A_TOKEN = 4;
/** Files that a replica without workers would read at once. */
const LEAST_PROCESSES = 1;
/**
 * The chunks of a file are in this process until all of them are embedded, and a document of headings makes far more of
 * them than it has text. A document of the greatest length has about half of each with the usual sizes.
 */
const CHUNKS_MAX = 100_000;
const CHARACTERS_MAX = 60_000_000;

/** The file whose original is read. */
export type ReadFile = Pick<typeof files.$inferSelect, "filename" | "sha256" | "bytes"> & {
  readonly chunking: ChunkingStrategy | null;
};

/**
 * Reads a file's original and splits its text: the same chunks each time, until a setting changes. Rejects with
 * `UnreadableFile`, with `storage_unavailable` while the original is missing, and with the signal's reason.
 */
export type ReadChunks = (file: ReadFile, signal: AbortSignal) => Promise<readonly Chunk[]>;

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
      return collect(splitChunks(reader.read({ path, filename }, signal), options));
    },
    close: reader.close,
  };
}

async function collect(batches: AsyncIterable<readonly Chunk[]>): Promise<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  let characters = 0;
  for await (const batch of batches) {
    for (const chunk of batch) {
      characters += chunk.text.length;
      // Neighbours with the same headings share one text of them.
      if (chunk.heading !== chunks.at(-1)?.heading) characters += chunk.heading?.length ?? 0;
      chunks.push(chunk);
    }
    if (chunks.length > CHUNKS_MAX) throw tooMuch("passages", CHUNKS_MAX);
    if (characters > CHARACTERS_MAX) {
      throw tooMuch("characters in its passages and the headings above them", CHARACTERS_MAX);
    }
  }
  return chunks;
}

function tooMuch(what: string, limit: number): UnreadableFile {
  const message = `The document has more than ${limit.toLocaleString("en-US")} ${what}.`;
  return new UnreadableFile("invalid_file", message);
}

function inCharacters({ max_chunk_size_tokens, chunk_overlap_tokens }: ChunkingStrategy) {
  return {
    size: max_chunk_size_tokens * CHARACTERS_A_TOKEN,
    overlap: chunk_overlap_tokens * CHARACTERS_A_TOKEN,
  };
}
