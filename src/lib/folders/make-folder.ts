import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder that only this user can enter, and its missing parents. Rejects with the system's own code: Node's
 * recursive creation reports ENOENT for a full disk.
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

/**
 * Returns the mode, such as `0755`, of a folder that gives other users any permission; undefined for any other folder.
 */
export async function openModeOf(path: string): Promise<string | undefined> {
  const { mode } = await stat(path).catch(() => ({ mode: 0 }));
  return (mode & 0o077) === 0 ? undefined : `0${(mode & 0o777).toString(8)}`;
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
