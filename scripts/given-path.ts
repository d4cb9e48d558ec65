import { resolve } from "node:path";

/**
 * Returns a path as its user meant it: from the folder in which the command was called. A package's scripts run in the
 * package's folder; npm and Bun pass on where they were called.
 */
export function givenPath(path: string): string {
  return resolve(process.env["INIT_CWD"] ?? ".", path);
}
