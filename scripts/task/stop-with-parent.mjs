import { isMainThread } from "node:worker_threads";

// Preloaded into a server that a task starts, so that the server stops too when the task is killed.
const POLL_MS = 250;
const parent = process.ppid;

function look() {
  if (process.ppid === parent) return;
  clearInterval(timer);
  process.kill(process.pid, "SIGTERM");
}

const timer = isMainThread ? setInterval(look, POLL_MS) : undefined;
timer?.unref();
