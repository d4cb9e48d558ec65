import { readFileSync } from "node:fs";

// Ctrl-C comes from the terminal and once more from npm: what follows this fast is the same request.
const SAME_REQUEST_MS = 500;
const POLL_MS = 250;

/**
 * Calls `stop(signal)` for each request to stop: a signal, or the end of the npm or Bun that started this task.
 * Those start a script through a shell, which may swallow a signal and outlives a killed parent.
 */
export function onStop(stop) {
  let lastMs = 0;
  const request = (signal) => {
    const nowMs = Date.now();
    if (nowMs - lastMs <= SAME_REQUEST_MS) return;
    // Of the last one that counted: whoever presses Ctrl-C over and over is heard too.
    lastMs = nowMs;
    stop(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => request(signal));
  // Writing to a terminal or pipe that is gone must not end this process before its children.
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

/** The parent and, where that is a shell, its parent: the shell itself stays when npm is killed. */
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
