import { createHash } from "node:crypto";
import { pipeline } from "node:stream";
import { pipeline as finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Pack, pack } from "tar-stream";
import type { EntrySum } from "../backup-format.ts";

const CHUNK_BYTES = 256 * 1024;
/** Rows are alike: a higher level takes twice the time for a tenth of the size. */
const LEVEL = 4;
const MODE = 0o600;

/** An archive in progress. */
export interface WrittenArchive {
  /** Compressed. Errors of `write` are thrown here. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Ends the archive, even before the last byte was read. Resolves when `write` has ended, and never rejects. */
  readonly close: () => Promise<void>;
}

/**
 * Returns a tar archive, compressed by gzip, of the entries that `write` adds, produced as fast as its bytes are read.
 * @param now Unix milliseconds; the time of all entries.
 */
export function writeArchive(
  now: number,
  write: (archive: ArchiveWriter) => Promise<void>,
): WrittenArchive {
  const tar = pack();
  const gzip = createGzip({ level: LEVEL, chunkSize: CHUNK_BYTES });
  pipeline(tar, gzip, () => undefined);
  const done = write(new ArchiveWriter(tar, now)).then(
    () => tar.finalize(),
    (thrown: Error) => void tar.destroy(thrown),
  );
  return {
    bytes: gzip,
    close() {
      gzip.destroy();
      return done;
    },
  };
}

/**
 * Adds entries to an archive, one after another, and records the size and checksum that each must have when it is read.
 */
export class ArchiveWriter {
  readonly #tar: Pack;
  readonly #modifiedAt: Date;
  readonly #sums: EntrySum[] = [];

  constructor(tar: Pack, now: number) {
    this.#tar = tar;
    this.#modifiedAt = new Date(now);
  }

  /** The sums of the entries so far, in their order. */
  get sums(): readonly EntrySum[] {
    return this.#sums;
  }

  add(path: string, content: Buffer): Promise<void> {
    return this.addStream(path, content.length, [content]);
  }

  /** Rejects unless the content has exactly the announced number of bytes. */
  async addStream(
    path: string,
    sizeBytes: number,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
  ): Promise<void> {
    const hash = createHash("sha256");
    const entry = this.#tar.entry({
      name: path,
      size: sizeBytes,
      mode: MODE,
      mtime: this.#modifiedAt,
    });
    await finished(async function* () {
      for await (const chunk of content) {
        hash.update(chunk);
        yield chunk;
      }
    }, entry);
    this.#sums.push({ path, bytes: sizeBytes, sha256: hash.digest("hex") });
  }
}
