import { bundleProgram } from "../bundle-program.mjs";
import { BUN_SETTINGS } from "./bun-settings.mjs";
import { loadEnvironmentFile } from "./load-environment-file.mjs";
import { onStop } from "./on-stop.mjs";
import { printRuntime, runtime, script, stopWithParent } from "./runtime.mjs";
import { startConsole } from "./start-console.mjs";
import { startProcess } from "./start-process.mjs";

const PROGRAM = "src/main.ts";

/** Starts the gateway; see `startProcess`. `program` may be a file that was made of it. */
export function startServer({ env = {}, program = PROGRAM } = {}) {
  const told = Object.keys(BUN_SETTINGS).filter((name) => process.env[name] !== undefined);
  const kept = Object.fromEntries(told.map((name) => [name, process.env[name]]));
  return startProcess(script(program, [printRuntime, stopWithParent]), {
    env: { ...BUN_SETTINGS, ...kept, ...env },
    group: "own",
  });
}

/**
 * Runs the gateway until it ends. Every signal is passed on: at the first one it finishes its streams; it handles a
 * second one itself.
 */
export async function runServer() {
  loadEnvironmentFile();
  const { child, ended } = startServer({ program: await quickProgram() });
  const builder = startConsole();
  onStop((signal) => child.kill(signal));
  const code = await ended;
  await builder.stop();
  return code;
}

/** Bun loads sources quickly by itself. */
async function quickProgram() {
  if (runtime === "bun") return PROGRAM;
  try {
    return await bundleProgram(PROGRAM);
  } catch {
    // Without the bundler, or with packages that are read-only, the sources start as well, only later.
    return PROGRAM;
  }
}
