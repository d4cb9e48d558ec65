import { loadEnvironmentFile } from "./load-environment-file.mjs";
import { onStop } from "./on-stop.mjs";
import { printRuntime, script, stopWithParent } from "./runtime.mjs";
import { startProcess } from "./start-process.mjs";

// Bun's `fetch` opens 256 connections at once unless told otherwise before it starts; this is its largest value.
const MAX_CONNECTIONS = "65336";

/** Starts the gateway; see `startProcess`. */
export function startServer(env = {}) {
  const connections = process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? MAX_CONNECTIONS;
  return startProcess(script("src/main.ts", [printRuntime, stopWithParent]), {
    env: { BUN_CONFIG_MAX_HTTP_REQUESTS: connections, ...env },
    group: "own",
  });
}

/** Runs the gateway until it ends; the first signal lets it finish its streams, the second is its own to judge. */
export function runServer() {
  loadEnvironmentFile();
  const { child, ended } = startServer();
  onStop((signal) => child.kill(signal));
  return ended;
}
