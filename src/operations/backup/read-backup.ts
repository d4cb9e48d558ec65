import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type ArchiveEntry, readArchive } from "./archive/read-archive.ts";
import {
  BACKUP_FORMAT,
  BackupError,
  ENTRY,
  type EntrySum,
  formatSchema,
  type Manifest,
  manifestSchema,
} from "./backup-format.ts";

/** Maximum size of an entry that is read into memory as a whole: a part of a table with one huge row. */
const WHOLE_MAX_BYTES = 1024 * 1024 * 1024;

export interface ReadBackupOptions {
  readonly file: string;
  /** Called with each entry between the format and the manifest. Its content must be read completely, or not at all. */
  readonly visit: (entry: ArchiveEntry) => Promise<void>;
  /** Receives the number of bytes of the file read so far. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

/**
 * Reads a backup from its beginning to its end and returns its manifest. Throws a BackupError unless the entries are
 * exactly those of the manifest.
 */
export async function readBackup({ file, visit, onRead }: ReadBackupOptions): Promise<Manifest> {
  const sums: EntrySum[] = [];
  let manifest: Manifest | undefined;
  for await (const entry of readArchive(file, onRead)) {
    if (manifest !== undefined) throw damaged("something follows its manifest");
    if (entry.path === ENTRY.manifest) {
      manifest = parseManifest(await readWhole(entry));
      continue;
    }
    const { content, sum } = summed(entry);
    if (sums.length === 0) checkFormat(entry.path, await readWhole({ ...entry, content }));
    else await visit({ ...entry, content });
    for await (const _ of content);
    sums.push(sum());
  }
  if (manifest === undefined) throw damaged("its end is missing");
  if (!isDeepStrictEqual(sums, manifest.entries)) throw damaged("its content is not what it was");
  return manifest;
}

/** Reads all bytes of an entry. */
export async function readWhole({ path, sizeBytes, content }: ArchiveEntry): Promise<Buffer> {
  if (sizeBytes > WHOLE_MAX_BYTES) throw damaged(`${path} is too large`);
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

function summed({ path, content }: ArchiveEntry): {
  readonly content: AsyncGenerator<Buffer>;
  readonly sum: () => EntrySum;
} {
  const hash = createHash("sha256");
  let bytes = 0;
  const read = async function* () {
    for await (const part of content) {
      hash.update(part);
      bytes += part.length;
      yield part;
    }
  };
  return { content: read(), sum: () => ({ path, bytes, sha256: hash.digest("hex") }) };
}

function checkFormat(path: string, bytes: Buffer): void {
  const { data } = formatSchema.safeParse(path === ENTRY.format ? parseJson(bytes) : undefined);
  if (data?.format !== BACKUP_FORMAT.format) {
    throw new BackupError("The file is no backup of the gateway: name one that `backup` has made.");
  }
  if (data.version > BACKUP_FORMAT.version) {
    throw new BackupError(
      `The backup has format ${data.version}, and this release reads up to ${BACKUP_FORMAT.version}. ` +
        "Restore it with the release that made it, or a newer one.",
    );
  }
}

function parseManifest(bytes: Buffer): Manifest {
  const { data } = manifestSchema.safeParse(parseJson(bytes));
  if (data === undefined) throw damaged("its manifest cannot be read");
  return data;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function damaged(what: string): BackupError {
  return new BackupError(
    `The backup is damaged: ${what}. Use another one, or copy it again from where it came.`,
  );
}
