import { constants, existsSync, fstatSync, lstatSync, readlinkSync, realpathSync } from "node:fs";

/** Names what is open, whatever was put in its place since. */
const DESCRIPTORS = existsSync("/proc/self/fd") ? "/proc/self/fd" : undefined;
/** Without these flags opening a pipe waits for a writer, and a terminal may become the process's own. */
export const READ_FLAGS =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Returns a path to what is open, as itself or as the folder of further levels; `path` where the system has none. */
export function pathOfDescriptor(descriptor: number, path: string): string {
  return DESCRIPTORS === undefined ? path : `${DESCRIPTORS}/${descriptor}`;
}

/**
 * Returns where a file or folder is now that is open; undefined when that is not known.
 * @param path by which it was opened.
 */
export function openedPath(descriptor: number, path: Buffer): Buffer | undefined {
  if (DESCRIPTORS !== undefined) {
    return Buffer.from(readlinkSync(`${DESCRIPTORS}/${descriptor}`, "latin1"), "latin1");
  }
  const real = realpathSync.native(path, { encoding: "buffer" });
  const [now, opened] = [lstatSync(real), fstatSync(descriptor)];
  return now.dev === opened.dev && now.ino === opened.ino ? real : undefined;
}

/**
 * Returns whether what is open lies in the folder that its path names. It does not where a level of that path, which was
 * free of symbolic links when it was checked, has become one. What is open must have been opened without following a link.
 */
export function isInItsFolder(descriptor: number, path: string): boolean {
  const opened = openedPath(descriptor, Buffer.from(path))?.toString();
  return opened !== undefined && folderOf(opened) === folderOf(path);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
