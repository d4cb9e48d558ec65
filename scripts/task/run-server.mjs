import { BUN_SETTINGS } from "./bun-settings.mjs";
import { loadEnvironmentFile } from "./load-environment-file.mjs";
import { onStop } from "./on-stop.mjs";
import { printRuntime, script, stopWithParent } from "./runtime.mjs";
import { startConsole } from "./start-console.mjs";
import { startProcess } from "./start-process.mjs";

/** Starts the gateway; see `startProcess`. */
export function startServer(env = {}) {
  const told = Object.keys(BUN_SETTINGS).filter((name) => process.env[name] !== undefined);
  const kept = Object.fromEntries(told.map((name) => [name, process.env[name]]));
  return startProcess(script("src/main.ts", [printRuntime, stopWithParent]), {
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
  const { child, ended } = startServer();
  const builder = startConsole();
  onStop((signal) => child.kill(signal));
  const code = await ended;
  await builder.stop();
  return code;
}
