import { readFileSync } from "node:fs";
import { STOP_SIGNALS } from "../../src/lib/process/stop-signals.mjs";

// Ctrl-C arrives from the terminal and again from npm: signals this close together are one request.
const SAME_REQUEST_MS = 500;
const POLL_MS = 250;

/**
 * Calls `stop(signal)` for each stop request: a signal, or the end of the npm or Bun that started this task. These
 * start a script through a shell, which may swallow a signal and outlives a killed parent.
 */
export function onStop(stop) {
  let lastMs = 0;
  const request = (signal) => {
    const nowMs = Date.now();
    if (nowMs - lastMs <= SAME_REQUEST_MS) return;
    // The time of the last counted request, so that repeated Ctrl-C counts too.
    lastMs = nowMs;
    stop(signal);
  };
  // What this task has started need not know of terminals that hang up.
  const told = (signal) => (signal === "SIGHUP" ? "SIGTERM" : signal);
  for (const signal of STOP_SIGNALS) process.on(signal, () => request(told(signal)));
  // A failed write to a closed terminal or pipe must not end this process before its children.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

  const startedByRunner = process.env.npm_lifecycle_event !== undefined;
  if (!startedByRunner) return;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    if (lastMs === 0) request("SIGTERM");
  }, POLL_MS);
  timer.unref();
}

/** Returns the parent process and, if that is a shell, its parent: the shell itself survives when npm is killed. */
function ancestors() {
  const parent = process.ppid;
  try {
    const [, name, , grandparent] =
      /\((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${parent}/stat`, "utf8")) ?? [];
    return /^(ba|da|z|k)?sh$/.test(name) ? `${parent} ${grandparent}` : `${parent}`;
  } catch {
    return `${parent}`;
  }
}
