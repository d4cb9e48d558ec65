import { ServiceError } from "../../src/core/service-error.ts";
import { toDatabaseError } from "../../src/db/database-error.ts";
import { StartRefusal } from "../../src/lib/folders/start-refusal.ts";
import { createLog, type Log } from "../../src/lib/log.ts";
import { CommandError } from "../../src/operations/command-error.ts";
import { givenPath } from "../given-path.ts";

const DONE = 0;
const FAILED = 1;
const MISUSED = 2;

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Errors whose message is for the operator. */
const OURS = [CommandError, ServiceError, StartRefusal, UsageError];

/** Warnings, on the error output: the standard one is for the result. */
export function commandLog(): Log {
  return createLog("warn", { write: (line) => void process.stderr.write(line) });
}

/** The one file that a command may be given, from the folder in which its user stands. */
export function fileArgument([file, ...more]: readonly string[]): string | undefined {
  if (file?.startsWith("-")) throw new UsageError(`${file} is not known`);
  if (more.length > 0) throw new UsageError("name one file");
  return file && givenPath(file);
}

/** Runs a command and ends the process with 0 for success, 1 for a failure, 2 for wrong usage. */
export async function runCommand(
  usage: string,
  run: (args: readonly string[]) => Promise<void>,
): Promise<never> {
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${usage}\n`);
    process.exit(DONE);
  }
  try {
    await run(args);
  } catch (thrown) {
    process.stderr.write(`${textOf(thrown)}\n`);
    if (!(thrown instanceof UsageError)) process.exit(FAILED);
    process.stderr.write(`\n${usage}\n`);
    process.exit(MISUSED);
  }
  process.exit(DONE);
}

/**
 * Returns the message for the operator: our own errors as they are, failed file operations by path, database errors
 * without values.
 */
function textOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (OURS.some((kind) => thrown instanceof kind)) return thrown.message;
  if ("syscall" in thrown) return fileFailure(thrown as NodeJS.ErrnoException);
  return `${toDatabaseError(thrown).message}`;
}

function fileFailure({ code, path, message }: NodeJS.ErrnoException): string {
  const where = path === undefined ? "" : ` (${path})`;
  if (code === "ENOSPC")
    return `The disk is full${where}. Make room, or name a file on another disk.`;
  if (code === "ENOENT") return `There is no such file${where}.`;
  if (code === "EISDIR") return `A folder is named${where}, not a file. Name the file.`;
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return `This user has no read or write permission there${where}. Run it as the user of the server, or name another place.`;
  }
  return message;
}
