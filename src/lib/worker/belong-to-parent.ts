import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * Makes this process a part of the server that started it: it ends with its parent, also while it is busy, leaves
 * signals to it, and writes nothing but its results to the standard output.
 */
export function belongToParent(): void {
  silenceConsole();
  // A signal to the whole group is for the server; this process ends with its input or its parent.
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
  process.stdout.on("error", () => process.exit(1));
  endWithParent();
}

function endWithParent(): void {
  const program = fileURLToPath(new URL("./end-with-parent.mjs", import.meta.url));
  // The thread is plain JavaScript and must not load what the process was started with.
  new Worker(program, { workerData: process.ppid, execArgv: [] }).unref();
}

/** Libraries report warnings there, and the standard output carries the results. */
function silenceConsole(): void {
  const silent = () => undefined;
  const silenced = { log: silent, info: silent, debug: silent, warn: silent, error: silent };
  Object.assign(globalThis.console, silenced);
}
