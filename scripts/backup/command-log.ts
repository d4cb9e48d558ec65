import { createLog, type Log } from "../../src/lib/log.ts";

/** Warnings, on the error output: the standard one is for the result. */
export function commandLog(): Log {
  return createLog("warn", { write: (line) => void process.stderr.write(line) });
}
