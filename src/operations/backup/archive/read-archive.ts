import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { BackupError } from "../backup-error.ts";
import { ByteSource } from "./byte-source.ts";
import { paddingOf, pathInNote, readTarHeader, TAR_BLOCK_BYTES } from "./tar-header.ts";

const CHUNK_BYTES = 256 * 1024;
/** The longest note about a path; what claims to be longer is damage. */
const NOTE_MAX_BYTES = 4_096;
const DAMAGED =
  "The file is damaged or no backup of the gateway: use another backup, or copy this one again from where it came.";

export interface ArchiveEntry {
  readonly path: string;
  readonly sizeBytes: number;
  /** To be read before the next entry; what is left is passed over. */
  readonly content: AsyncGenerator<Buffer>;
}

/**
 * The entries of a compressed archive, from its beginning to its end, which must be there. Throws a BackupError for what
 * is no such archive, cut short or damaged.
 *
 * @param onRead told how many bytes of the file were read so far.
 */
export async function* readArchive(
  file: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<ArchiveEntry> {
  const raw = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  const plain = createGunzip({ chunkSize: CHUNK_BYTES });
  pipeline(raw, plain, () => undefined);
  const source = new ByteSource(
    told(plain, () => onRead(raw.bytesRead)),
    DAMAGED,
  );
  try {
    yield* readEntries(source);
    // The checksum of the whole stands at its very end.
    await source.finish();
  } finally {
    raw.destroy();
    plain.destroy();
  }
}

/** Here and not further up, because whoever reads a content is who meets its failure. */
async function* told(chunks: AsyncIterable<Buffer>, tell: () => void): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of chunks) {
      tell();
      yield chunk;
    }
  } catch (thrown) {
    throw describe(thrown);
  }
}

async function* readEntries(source: ByteSource): AsyncGenerator<ArchiveEntry> {
  let longPath: string | undefined;
  for (;;) {
    const header = readTarHeader(await source.read(TAR_BLOCK_BYTES));
    if (header === "end") return;
    if (header === undefined) throw new BackupError(DAMAGED);
    const { sizeBytes } = header;
    if (header.isNote) {
      if (sizeBytes > NOTE_MAX_BYTES) throw new BackupError(DAMAGED);
      longPath = pathInNote((await source.read(sizeBytes)).toString());
    } else {
      const content = source.stream(sizeBytes);
      yield { path: longPath ?? header.path, sizeBytes, content };
      for await (const _ of content);
      longPath = undefined;
    }
    await source.read(paddingOf(sizeBytes));
  }
}

/** What gzip says of a file that is none, cut or damaged becomes our own word; other failures stay as they are. */
function describe(thrown: unknown): unknown {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return /^Z_|^ERR_.*ZLIB/.test(code) ? new BackupError(DAMAGED, { cause: thrown }) : thrown;
}
