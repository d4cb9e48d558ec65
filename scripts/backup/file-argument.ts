import { resolve } from "node:path";
import { UsageError } from "./usage-error.ts";

/** The one file that a command may be given, from the folder in which its user stands. */
export function fileArgument([file, ...more]: readonly string[]): string | undefined {
  if (file?.startsWith("-")) throw new UsageError(`${file} is not known`);
  if (more.length > 0) throw new UsageError("name one file");
  // A package's scripts run in the package's folder; npm and Bun tell where they were called.
  return file && resolve(process.env["INIT_CWD"] ?? ".", file);
}
