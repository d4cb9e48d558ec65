import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { BackupError } from "../backup-format.ts";

const CHUNK_BYTES = 256 * 1024;

export interface ArchiveEntry {
  readonly path: string;
  readonly sizeBytes: number;
  /** Must be read before the next entry; unread bytes are skipped. */
  readonly content: AsyncGenerator<Buffer>;
}

/**
 * Yields the entries of a compressed archive, from its beginning to its end, which must be there. Throws a BackupError
 * for a file that is not such an archive, is cut short or damaged.
 * @param onRead receives the number of bytes of the file read so far.
 */
export async function* readArchive(
  file: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<ArchiveEntry> {
  const raw = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  const tar = extract();
  pipeline(raw, createGunzip({ chunkSize: CHUNK_BYTES }), tar, () => undefined);
  try {
    for await (const entry of failuresDescribed(tar)) {
      const { name, type, size = 0 } = entry.header;
      if (type !== "file") throw isDamaged();
      const content = failuresDescribed(entry as AsyncIterable<Buffer>, () =>
        onRead(raw.bytesRead),
      );
      yield { path: name, sizeBytes: size, content };
      for await (const _ of content);
    }
  } finally {
    raw.destroy();
    tar.destroy();
  }
}

/**
 * Turns gzip's and tar's errors about an invalid, cut or damaged file into a BackupError; errors of reading the file
 * stay.
 */
async function* failuresDescribed<Item>(
  items: AsyncIterable<Item>,
  onItem: () => void = () => undefined,
): AsyncGenerator<Item> {
  try {
    for await (const item of items) {
      onItem();
      yield item;
    }
  } catch (thrown) {
    throw thrown instanceof Error && "syscall" in thrown ? thrown : isDamaged(thrown);
  }
}

function isDamaged(cause?: unknown): BackupError {
  return new BackupError(
    "The file is damaged or no backup of the gateway: use another backup, or copy this one again from where it came.",
    { cause },
  );
}
