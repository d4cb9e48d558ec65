import type { Log } from "../log.ts";
import type { LogOutput } from "./log-output.ts";

/** How long the exit waits for the log to be written. */
const FLUSH_MS = 250;

/**
 * Logs an uncaught fault and ends the process, as a crash would. Any work may be half done; the next start cleans up.
 */
export function endOnFaults(log: Log, output: LogOutput): void {
  const end = (fault: unknown) => {
    log.fatal({ err: fault }, "an uncaught fault ends the server");
    void output.flush(FLUSH_MS).then(() => process.exit(1));
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
