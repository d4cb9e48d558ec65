import { open } from "node:fs/promises";

/** Bytes read at one go: a few hundred records, well under a millisecond of work. */
export const CHUNK_BYTES = 256 * 1024;

/** Reads up to `length` bytes from `offset` of the file at `path`; fewer at its end. Fills and returns part of `target`. */
export async function readChunk(path: string, offset: number, target: Buffer): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { bytesRead } = await file.read(target, 0, target.length, offset);
    return target.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
