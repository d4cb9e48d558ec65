import { type FileHandle, open } from "node:fs/promises";
import { isInItsFolder, READ_FLAGS } from "./opened-path.ts";

/**
 * Opens a regular file to read, by a path that was found free of symbolic links. Resolves with undefined when a level of
 * it has become one since, or when something else has taken the file's place: a pipe is not waited for. Whoever gets it
 * closes it. Rejects as the file system does.
 */
export async function openRealFile(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, READ_FLAGS);
  let isMeant = false;
  try {
    isMeant = (await file.stat()).isFile() && isInItsFolder(file.fd, path);
  } finally {
    if (!isMeant) await file.close();
  }
  return isMeant ? file : undefined;
}
