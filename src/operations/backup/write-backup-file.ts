import { link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { syncFolder } from "../../lib/folders/sync-folder.ts";
import { randomBase62 } from "../../lib/id.ts";
import { isRunning, thisProcess } from "../../lib/process-lock/process-identity.ts";
import type { Manifest } from "./backup-format.ts";
import { BackupError } from "./backup-format.ts";
import { checkBackup } from "./check-backup.ts";

/** The errors of file systems without hard links. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Names the owner, to recognise files of killed commands: process id, process start, and an id of the space in which
 * they are valid.
 */
const PARTIAL = /\.(\d+)\.(\d*)\.([\w-]{10})\.[0-9A-Za-z]{8}\.partial$/;
/** A file of another machine or container that is not written to for this long is orphaned. */
const FORGOTTEN_MS = 86_400_000;

export interface WriteBackupOptions {
  /** The path of the backup, which must not exist. */
  readonly file: string;
  /** Compressed. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Receives the number of bytes written so far. */
  readonly onWritten?: (bytes: number) => void;
  /** Aborts the backup; the reason of the signal is thrown. */
  readonly signal?: AbortSignal | undefined;
}

export interface WrittenBackup {
  readonly manifest: Manifest;
  readonly sizeBytes: number;
}

/**
 * Writes a backup beside its path, reads it back to the last byte, and renames it when it is complete and synced. So a
 * file of that name can be restored. Throws a BackupError when the name is taken. A failure leaves no file; a kill
 * leaves one that ends in `.partial`, which the next backup into that folder removes.
 */
export async function writeBackupFile(options: WriteBackupOptions): Promise<WrittenBackup> {
  const { file } = options;
  await refuseTaken(file);
  await makeFolder(dirname(file));
  await removeOrphans(dirname(file));
  const partial = partialOf(file);
  try {
    const sizeBytes = await write(partial, options);
    const manifest = await checkBackup({ file: partial });
    options.signal?.throwIfAborted();
    await giveName(partial, file);
    await syncFolder(dirname(file));
    return { manifest, sizeBytes };
  } finally {
    await rm(partial, { force: true });
  }
}

/** Throws a BackupError when the name of the backup is taken. */
export async function refuseTaken(file: string): Promise<void> {
  if (await exists(file)) throw new BackupError(taken(file));
}

function partialOf(file: string): string {
  const { pid, startedAt, place } = thisProcess();
  return `${file}.${pid}.${startedAt}.${place}.${randomBase62(8)}.partial`;
}

/**
 * Removes the files that killed commands have left in a folder. Never rejects, because a backup does not depend on it.
 */
async function removeOrphans(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (PARTIAL.test(name) && (await isOrphan(path))) {
      await rm(path, { force: true }).catch(() => undefined);
    }
  }
}

async function isOrphan(path: string): Promise<boolean> {
  const [, pid, startedAt = "", place = ""] = PARTIAL.exec(path) ?? [];
  const here = thisProcess();
  if (place === here.place) return !isRunning({ ...here, pid: Number(pid), startedAt });
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
  return mtimeMs < Date.now() - FORGOTTEN_MS;
}

async function write(
  partial: string,
  { bytes, signal, onWritten = () => undefined }: WriteBackupOptions,
): Promise<number> {
  const file = await open(partial, "wx", 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      signal?.throwIfAborted();
      await file.writeFile(chunk);
      size += chunk.length;
      onWritten(size);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return size;
}

/** Gives the file its name by a link, which, unlike a rename, never replaces a file created in the meantime. */
async function giveName(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file);
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
    if (code === "EEXIST") throw new BackupError(taken(file), { cause: thrown });
    if (!NO_LINKS.has(code)) throw thrown;
    if (await exists(file)) throw new BackupError(taken(file), { cause: thrown });
    await rename(partial, file);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return false;
      throw thrown;
    },
  );
}

function taken(file: string): string {
  return `${file} is there already, and a backup overwrites nothing. Name another file, or none.`;
}
