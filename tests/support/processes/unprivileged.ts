import { spawnSync } from "node:child_process";
import { chownSync } from "node:fs";

/** The user `nobody` of most systems. */
const USER = 65_534;
const isRoot = process.getuid?.() === 0;

/** What a program is started through so that it does not run as root. */
export const UNPRIVILEGED: readonly string[] = isRoot
  ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--"]
  : [];

/** Gives a folder to the user of such programs. */
export function giveAway(folder: string): void {
  if (isRoot) chownSync(folder, USER, USER);
}

/** Returns whether such a program can make the sandbox of the shell here; if not, one line says what is left out. */
export function canMakeSandbox(leftOut: string): boolean {
  const [command = "bwrap", ...rest] = [
    ...UNPRIVILEGED,
    ...["bwrap", "--unshare-user", "--unshare-net", "--disable-userns", "--ro-bind", "/", "/"],
    // It must be able to read the program, too.
    ...["test", "-r", import.meta.filename, "-a", "-x", process.execPath],
  ];
  const { status } = spawnSync(command, rest, { stdio: "ignore" });
  if (status === 0) return true;
  // biome-ignore lint/suspicious/noConsole: says which tests are left out
  console.info(
    `bubblewrap or user namespaces are missing, or other users cannot read this folder: ${leftOut} are left out.`,
  );
  return false;
}
