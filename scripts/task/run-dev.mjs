import { randomInt } from "node:crypto";
import { findEngine } from "./find-engine.mjs";
import { loadEnvironmentFile } from "./load-environment-file.mjs";
import { onStop } from "./on-stop.mjs";
import { startServer } from "./run-server.mjs";
import { startConsole } from "./start-console.mjs";
import { watchFolder } from "./watch-folder.mjs";

const RESTART_WAIT_MS = 10_000;

/** The folder under src whose changes are built and leave the server alone. */
const CONSOLE = "src/console";

/**
 * Runs the gateway on loopback with an engine and a key, and restarts it after each change under src. The console is
 * built beside it, again after each change of its own.
 */
export async function runDev() {
  loadEnvironmentFile();
  let stopping = false;
  let changed = false;
  let server;
  let wake = () => {};
  const engine = await findEngine();
  const env = { ...engine.env, ...developmentSettings() };
  let builder;

  onStop((signal) => {
    stopping = true;
    server.child.kill(signal);
    wake();
  });
  const onChange = () => {
    if (!changed) stopForRestart(server);
    changed = true;
    wake();
  };
  watchFolder("src", onChange, [CONSOLE]);

  for (let run = 1; ; run += 1) {
    changed = false;
    server = startServer({ env });
    builder ??= startConsole({ watch: true });
    const code = await server.ended;
    if (!stopping && !changed && run > 1) {
      console.log(`dev: the server ended (${code}); it restarts at the next change under src`);
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
    if (stopping || !changed) {
      await Promise.all([engine.stop(), builder.stop()]);
      return code;
    }
    console.log("dev: src changed, starting again");
  }
}

/** Returns the settings of `dev`, unless the environment sets them. */
function developmentSettings() {
  const { HOST, DRAIN_TIMEOUT_MS, BOOTSTRAP_API_KEY } = process.env;
  return {
    HOST: HOST || "127.0.0.1",
    DRAIN_TIMEOUT_MS: DRAIN_TIMEOUT_MS || "2000",
    ALLOW_LICENSE_PUBLIC_KEY: "1",
    ...(BOOTSTRAP_API_KEY ? {} : { DEV_API_KEY: makeKey() }),
  };
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_LENGTH = 43;

function makeKey() {
  return `sk-${Array.from({ length: KEY_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join("")}`;
}

function stopForRestart({ child, ended }) {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), RESTART_WAIT_MS);
  ended.then(() => clearTimeout(timer));
}
