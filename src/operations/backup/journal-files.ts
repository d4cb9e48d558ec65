import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { listJournals, listSegments } from "../../usage/journal/journal-folder.ts";
import { scanRecords } from "../../usage/journal/scan-records.ts";
import { segmentName } from "../../usage/journal/segment.ts";

/** A file of the journals' folder. */
export interface JournalFile {
  /** From that folder, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Buffer> | Iterable<Buffer>;
}

const ASIDE = /\.journal\.(aside|\d+\.\d+\.damaged)$/;
const FILE_PATH = /^[\w.-]+\.journal(\/\d{8}\.segment|\.aside|\.\d+\.\d+\.damaged)$/;

/** True for the paths that `readJournalFiles` gives. */
export function isJournalPath(path: string): boolean {
  return FILE_PATH.test(path) && !path.startsWith(".");
}

/**
 * All usage that is on the disk under `root`, of journals that are written meanwhile and of those whose owner is gone, and
 * after them what was kept aside. What is moved on in the meantime, to the database or aside, is found there by whoever
 * looks there afterwards: so the database is to be read after the last of these.
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

/** The last record of a journal that is being written may be there in part; its answer is not finished yet. */
function withoutCutRecord(bytes: Buffer): Buffer {
  const { rest, soundBytes } = scanRecords(bytes);
  return rest === "cut" ? bytes.subarray(0, soundBytes) : bytes;
}

/** What a file had when it was opened; it may grow meanwhile. */
async function* readUntil(
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

/** Undefined for what is gone by now. */
async function orUndefined<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
