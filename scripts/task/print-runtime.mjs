import { isMainThread } from "node:worker_threads";

// Loaded first into a task's program; workers and forks of that program may inherit it and stay silent.
if (isMainThread && process.env.TASK_PROCESS === String(process.ppid)) {
  const { bun, node } = process.versions;
  console.log(`runtime: ${bun === undefined ? `node ${node}` : `bun ${bun}`}`);
}
