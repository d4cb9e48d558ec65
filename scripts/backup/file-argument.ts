import { resolve } from "node:path";
import { UsageError } from "./usage-error.ts";

/** Returns the only file argument, resolved from the user's working folder; undefined without one. */
export function fileArgument([file, ...more]: readonly string[]): string | undefined {
  if (file?.startsWith("-")) throw new UsageError(`unknown option ${file}`);
  if (more.length > 0) throw new UsageError("name one file");
  // A package's scripts run in the package's folder; npm and Bun pass the caller's folder in INIT_CWD.
  return file && resolve(process.env["INIT_CWD"] ?? ".", file);
}
