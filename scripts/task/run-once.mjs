import { STOP_SIGNALS } from "../../src/lib/process/stop-signals.mjs";
import { startProcess } from "./start-process.mjs";

/** Runs a program and passes signals on to it; returns its exit code. */
export function runOnce(program) {
  const { child, ended } = startProcess(program);
  for (const signal of STOP_SIGNALS) {
    // The terminal sends Ctrl-C to the program too; this process only waits for it to end.
    process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
  }
  return ended;
}
