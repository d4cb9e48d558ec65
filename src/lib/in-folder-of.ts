import { StartRefusal } from "./start-refusal.ts";

/** What the system says of a folder that cannot be made or written in. */
const DENIALS: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  // Nothing can be made in /proc, and where a link leads nowhere.
  "ENOENT",
  "ENOTDIR",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
  "ENOSPC",
  "EDQUOT",
]);

/**
 * Does what a start has to do in the folder that a setting names. Rejects with a `StartRefusal` that names the setting
 * where the system denies it, and else as the work does.
 */
export async function inFolderOf<Result>(
  setting: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
    if (!DENIALS.has(code)) throw thrown;
    throw new StartRefusal(
      `${setting}: the folder cannot be used (${String(code)}). Name one that this user may make and write in, on a disk with room.`,
      { cause: thrown },
    );
  }
}
