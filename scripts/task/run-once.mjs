import { startProcess } from "./start-process.mjs";

/** Runs a program and passes signals on to it; returns its exit code. */
export function runOnce(program) {
  const { child, ended } = startProcess(program);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // The terminal sends Ctrl-C to the program too; this process only waits for it to end.
  process.on("SIGINT", () => {});
  return ended;
}
