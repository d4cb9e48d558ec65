import { createHash } from "node:crypto";
import type { EntrySum } from "../backup-format.ts";
import { paddingOf, TAR_BLOCK_BYTES, writeTarHeader } from "./tar-header.ts";

/** Writes the entries of an archive, and keeps of each what it must be when it is read again. */
export class ArchiveWriter {
  readonly #modifiedSeconds: number;
  readonly #sums: EntrySum[] = [];

  /** @param now Unix milliseconds; the time that all entries bear. */
  constructor(now: number) {
    this.#modifiedSeconds = Math.floor(now / 1_000);
  }

  /** Of the entries so far, in their order. */
  get sums(): readonly EntrySum[] {
    return this.#sums;
  }

  add(path: string, content: Buffer): AsyncGenerator<Buffer> {
    return this.addStream(path, content.length, [content]);
  }

  /** The content must have exactly the bytes that are announced. */
  async *addStream(
    path: string,
    sizeBytes: number,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
  ): AsyncGenerator<Buffer> {
    yield writeTarHeader({ path, sizeBytes }, this.#modifiedSeconds);
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
    if (bytes !== sizeBytes) throw new Error(`${path} has ${bytes} bytes instead of ${sizeBytes}`);
    yield Buffer.alloc(paddingOf(sizeBytes));
    this.#sums.push({ path, bytes, sha256: hash.digest("hex") });
  }

  /** What stands behind the last entry. */
  end(): Buffer {
    return Buffer.alloc(2 * TAR_BLOCK_BYTES);
  }
}
