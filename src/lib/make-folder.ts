import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder that only this user enters, and those above it, where they are missing. Rejects with the system's own
 * code: Node's recursive making says ENOENT of a disk that is full.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await make(path);
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
    await makeFolder(dirname(path));
    await make(path);
  }
}

async function make(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
}
