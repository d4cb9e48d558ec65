import { isMainThread } from "node:worker_threads";

// Preloaded into a task's program. Its workers and forks may inherit it and print nothing.
if (isMainThread && process.env.TASK_PROCESS === String(process.ppid)) {
  const { bun, node } = process.versions;
  console.log(`runtime: ${bun === undefined ? `node ${node}` : `bun ${bun}`}`);
}
