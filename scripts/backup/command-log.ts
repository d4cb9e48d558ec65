import { createLog, type Log } from "../../src/lib/log.ts";

/** Creates a log of warnings on the error output, because the standard output is for the result. */
export function commandLog(): Log {
  return createLog("warn", { write: (line) => void process.stderr.write(line) });
}
