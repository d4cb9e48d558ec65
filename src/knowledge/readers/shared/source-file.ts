import { open } from "node:fs/promises";
import { extname } from "node:path";
import type { ReadLimits, SourceFile } from "../reader.ts";
import { detectEncoding } from "./detect-encoding.ts";
import { openZip } from "./zip-file.ts";

const HEAD_BYTES = 64 * 1024;
const MARKUP_BYTES = 4_096;
const ZIP_MAGIC = "PK\u0003\u0004";
const EMPTY_ZIP_MAGIC = "PK\u0005\u0006";

/** Throws `UnreadableFile` for a damaged archive, or the file system's error. */
export async function openSourceFile(
  path: string,
  filename: string,
  limits: ReadLimits,
): Promise<SourceFile> {
  const { head, size } = await readHead(path);
  const magic = head.toString("latin1", 0, 4);
  const isZip = magic === ZIP_MAGIC || magic === EMPTY_ZIP_MAGIC;
  let encoding: Promise<string | null> | undefined;
  return {
    path,
    extension: extname(filename).slice(1).toLowerCase(),
    size,
    head,
    zip: isZip ? await openZip(path, size, limits) : undefined,
    encoding() {
      encoding ??= detectEncoding(path, head);
      return encoding;
    },
    limits,
  };
}

/** The beginning of a file as far as it is ASCII, in whichever encoding: enough to recognise markup. */
export function markupOf({ head }: SourceFile): string {
  const text = head.toString("latin1", 0, MARKUP_BYTES);
  return text.replace(/^(?:\xff\xfe|\xfe\xff|\xef\xbb\xbf)/, "").replaceAll("\0", "");
}

async function readHead(path: string): Promise<{ head: Buffer; size: number }> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return { head: buffer.subarray(0, bytesRead), size };
  } finally {
    await handle.close();
  }
}
