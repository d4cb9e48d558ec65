/** System error codes for a folder that cannot be created or written to. */
const DENIALS: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  // ENOENT is returned in /proc and for a dangling symbolic link.
  "ENOENT",
  "ENOTDIR",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
  "ENOSPC",
  "EDQUOT",
]);

/**
 * Runs startup work in the folder that a setting names. Rejects with a `StartRefusal` that names the setting when the
 * system denies access; any other error passes through.
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
      `${setting}: the folder cannot be used (${String(code)}). Name a folder that this user can create and write to, on a disk with free space.`,
      { cause: thrown },
    );
  }
}

/** The service cannot start, for a reason that the operator can fix. The message says what and how. */
export class StartRefusal extends Error {
  override readonly name: string = "StartRefusal";
}
