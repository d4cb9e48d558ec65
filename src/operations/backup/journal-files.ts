import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { listJournals, listSegments } from "../../usage/journal/journal-folder.ts";
import { scanRecords } from "../../usage/journal/scan-records.ts";
import { segmentName } from "../../usage/journal/segment.ts";

/** A file in the folder of the journals. */
export interface JournalFile {
  /** Relative to that folder, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Buffer> | Iterable<Buffer>;
}

const ASIDE = /\.journal\.(aside|\d+\.\d+\.damaged)$/;
/** The name is that of a folder or file, whatever it is; it ends with `.journal`, so it cannot be `.` or `..`. */
const FILE_PATH = /^[^/\\\p{Cc}]+\.journal(?:\/\d{8}\.segment|\.aside|\.\d+\.\d+\.damaged)$/u;

/** Returns true for the paths that `readJournalFiles` yields. */
export function isJournalPath(path: string): boolean {
  return FILE_PATH.test(path);
}

/**
 * Yields all usage on the disk under `root`, of journals in use and of abandoned ones, and then the quarantine. Usage
 * that is moved in the meantime, to the database or to the quarantine, is found there later. So the database must be
 * read after the last of these files.
 */
export async function* readJournalFiles(root: string): AsyncGenerator<JournalFile> {
  for (const journal of await orNone(listJournals(root))) {
    const folder = join(root, journal);
    for (const number of await orNone(listSegments(folder))) {
      const name = segmentName(number);
      const bytes = await orUndefined(readFile(join(folder, name)));
      if (bytes === undefined) continue;
      const whole = withoutCutRecord(bytes);
      yield { path: `${journal}/${name}`, sizeBytes: whole.length, content: [whole] };
    }
  }
  for (const name of await orNone(readdir(root))) {
    if (!ASIDE.test(name)) continue;
    const file = await orUndefined(open(join(root, name)));
    if (file === undefined) continue;
    try {
      const { size } = await file.stat();
      yield { path: name, sizeBytes: size, content: readUntil(file, size) };
    } finally {
      await file.close();
    }
  }
}

/**
 * Removes a cut record: the last one of a journal in use may be incomplete; its call has not been answered to the end
 * yet.
 */
function withoutCutRecord(bytes: Buffer): Buffer {
  const { rest, soundBytes } = scanRecords(bytes);
  return rest === "cut" ? bytes.subarray(0, soundBytes) : bytes;
}

/** Reads the bytes that the file had when it was opened; it may grow in the meantime. */
export async function* readUntil(
  file: Awaited<ReturnType<typeof open>>,
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  const chunk = Buffer.alloc(256 * 1024);
  for (let offset = 0; offset < sizeBytes; ) {
    const length = Math.min(chunk.length, sizeBytes - offset);
    const { bytesRead } = await file.read(chunk, 0, length, offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    yield Buffer.from(chunk.subarray(0, bytesRead));
  }
}

async function orNone<Item>(list: Promise<readonly Item[]>): Promise<readonly Item[]> {
  return (await orUndefined(list)) ?? [];
}

/** Returns undefined for files that are gone by now. */
async function orUndefined<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
