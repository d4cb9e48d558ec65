import { fileURLToPath } from "node:url";
import { openWorkers } from "../../lib/worker/open-workers.ts";
import { WorkFailure } from "../../lib/worker/work-failure.ts";
import { type Block, READ_LIMITS, type ReadLimits, UnreadableFile } from "./reader.ts";

const PROGRAM = fileURLToPath(new URL("./read-documents.ts", import.meta.url));
const IDLE_MS = 30_000;
/** Bytes of JSON for a character, at most, and for everything around the texts. */
const BYTES_PER_CHARACTER = 6;

/** What the process is asked to read. */
export interface ReadJob {
  readonly path: string;
  readonly filename: string;
  readonly limits: ReadLimits;
}

export interface DocumentSource {
  readonly path: string;
  /** Its extension is a hint at the format. */
  readonly filename: string;
}

/** Reads documents in separate processes, because they may be made to exhaust whoever reads them. */
export interface DocumentReader {
  /**
   * Yields the blocks of a document in batches of about 32,000 characters. Throws `UnreadableFile`, also after some
   * blocks, or the signal's reason.
   */
  readonly read: (
    source: DocumentSource,
    signal: AbortSignal,
  ) => AsyncGenerator<readonly Block[], void>;
  readonly close: () => void;
}

export interface DocumentReaderOptions {
  /** Files that are read at once; others wait. */
  readonly processes: number;
  /** Nobody waits for the text. */
  readonly isBackground?: boolean;
  readonly limits?: Partial<ReadLimits>;
}

export function openDocumentReader({ limits, ...options }: DocumentReaderOptions): DocumentReader {
  const all: ReadLimits = { ...READ_LIMITS, ...limits };
  const { memoryBytes, timeMs } = all;
  const workers = openWorkers({ ...options, program: PROGRAM, memoryBytes, idleMs: IDLE_MS });
  const outputBytes = all.characters * BYTES_PER_CHARACTER;
  return {
    async *read({ path, filename }, signal) {
      const job: ReadJob = { path, filename, limits: all };
      try {
        for await (const batch of workers.run(job, { signal, timeMs, outputBytes }))
          yield batch as readonly Block[];
      } catch (thrown) {
        throw thrown instanceof WorkFailure ? unreadable(thrown, all) : thrown;
      }
    },
    close: workers.close,
  };
}

function unreadable({ reason, code, message }: WorkFailure, limits: ReadLimits): UnreadableFile {
  switch (reason) {
    case "failed":
      return code === "invalid_file" || code === "unsupported_file" || code === "server_error"
        ? new UnreadableFile(code, message)
        : new UnreadableFile("server_error", "The file could not be read.");
    case "time":
      return invalid(`The file took more than ${Math.round(limits.timeMs / 1_000)} s to read.`);
    case "memory":
      return invalid(
        `The file needs more than ${mebibytes(limits.memoryBytes)} of memory to read.`,
      );
    case "output":
      return invalid("The file contains more than can be stored.");
    case "crashed":
      return new UnreadableFile("server_error", "The process that read the file ended early.");
    case "closed":
      return new UnreadableFile("server_error", "The server is stopping.");
  }
}

function invalid(message: string): UnreadableFile {
  return new UnreadableFile("invalid_file", message);
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
