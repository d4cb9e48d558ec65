import { link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomBase62 } from "../../lib/id.ts";
import { makeFolder } from "../../lib/make-folder.ts";
import { isRunning, thisProcess } from "../../lib/process-lock/process-identity.ts";
import type { Manifest } from "./backup-format.ts";
import { BackupError } from "./backup-format.ts";
import { checkBackup } from "./check-backup.ts";
import { syncFolder } from "./restore/place-file.ts";

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Whose it is, so that what a killed command has left is known: process, its start, where such numbers count. */
const PARTIAL = /\.(\d+)\.(\d*)\.([\w-]{10})\.[0-9A-Za-z]{8}\.partial$/;
/** One of another machine or container that is not written to for so long is an orphan. */
const FORGOTTEN_MS = 86_400_000;

export interface WriteBackupOptions {
  /** Where the backup is to be; nothing may be there. */
  readonly file: string;
  /** Compressed. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Told how many bytes were written so far. */
  readonly onWritten?: (bytes: number) => void;
  /** Breaks it off; what it was aborted with is thrown. */
  readonly signal?: AbortSignal | undefined;
}

export interface WrittenBackup {
  readonly manifest: Manifest;
  readonly sizeBytes: number;
}

/**
 * Writes a backup beside its place, reads it back to the last byte, and gives it its name when it is whole and on the disk.
 * So what bears the name can be restored. Throws a BackupError when something bears it already. Whatever fails, nothing is
 * left; after a kill a file that ends in `.partial` is, which the next backup into that folder removes.
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

/** Throws a BackupError when something bears the name of the backup already. */
export async function refuseTaken(file: string): Promise<void> {
  if (await exists(file)) throw new BackupError(taken(file));
}

function partialOf(file: string): string {
  const { pid, startedAt, place } = thisProcess();
  return `${file}.${pid}.${startedAt}.${place}.${randomBase62(8)}.partial`;
}

/** Removes what commands that were killed have left in a folder. Never rejects: a backup can do without. */
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

/** A link, unlike a renaming, never takes the place of a file that came meanwhile. */
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
