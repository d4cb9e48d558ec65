import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { randomBase62 } from "../../lib/id.ts";
import {
  acquireProcessLock,
  type ProcessLock,
  ProcessLockHeldError,
} from "../../lib/process-lock/process-lock.ts";
import { segmentNumber } from "./segment.ts";

/** The suffix of journal folders. Folders with other names must not be touched. */
const SUFFIX = ".journal";
const LOCK_PREFIX = "process.lock";
const NAMES_MAX = 5;

export interface JournalFolder {
  /** Unique to one start of one process. */
  readonly name: string;
  readonly path: string;
  readonly lock: ProcessLock;
}

export function journalName(name: string): string {
  return `${name}${SUFFIX}`;
}

/**
 * Creates and locks a new folder under `root` for the journal of this process; removes it again when that fails.
 * @param onLost called once when another process has taken the folder.
 */
export async function createJournalFolder(
  root: string,
  instance: string,
  onLost: () => void,
): Promise<JournalFolder> {
  await makeFolder(root);
  for (let attempt = 1; ; attempt += 1) {
    const name = journalName(`${instance}-${randomBase62(12)}`);
    const path = join(root, name);
    try {
      return { name, path, lock: await acquireProcessLock(path, { onLost }) };
    } catch (thrown) {
      // Between creation and locking a folder looks abandoned, and another process may have adopted it.
      if (thrown instanceof ProcessLockHeldError && attempt < NAMES_MAX) continue;
      await rmdir(path).catch(() => undefined);
      throw thrown;
    }
  }
}

/** Names of the journals under `root`. */
export async function listJournals(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name.endsWith(SUFFIX))
    .map((entry) => entry.name);
}

/** Numbers of the segments in a journal's folder, oldest first. */
export async function listSegments(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names
    .map(segmentNumber)
    .filter((number) => number !== undefined)
    .sort((one, other) => one - other);
}

/** Releases the lock of a journal without segments and removes its folder. */
export async function removeJournalFolder({
  path,
  lock,
}: Omit<JournalFolder, "name">): Promise<void> {
  await lock.release();
  const names = await readdir(path);
  const leftovers = names.filter((name) => name.startsWith(LOCK_PREFIX));
  await Promise.all(leftovers.map((name) => rm(join(path, name), { force: true })));
  await rmdir(path);
}
