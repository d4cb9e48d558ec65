// @ts-check
// A thread of a worker process. Its main thread may be busy for minutes and would not notice that the server is gone.
import { workerData } from "node:worker_threads";

const LOOK_MS = 500;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
