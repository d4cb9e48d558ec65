import type { Log } from "../log.ts";
import type { LogOutput } from "./log-output.ts";

/** How long a log that nobody reads may hold up the end. */
const FLUSH_MS = 250;

/**
 * Logs a fault that nobody caught, and ends the process as a crash would: it may have left anything half done, and the
 * next start cleans up.
 */
export function endOnFaults(log: Log, output: LogOutput): void {
  const end = (fault: unknown) => {
    log.fatal({ err: fault }, "an uncaught fault ends the server");
    void output.flush(FLUSH_MS).then(() => process.exit(1));
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
