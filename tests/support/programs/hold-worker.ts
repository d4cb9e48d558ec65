import { fileURLToPath } from "node:url";
import { openWorkers } from "../../../src/lib/worker/open-workers.ts";

/** Has a worker process that is busy, and writes the process id of that. */
const program = fileURLToPath(new URL("./do-jobs.ts", import.meta.url));
const workers = openWorkers({ program, processes: 1, memoryBytes: 2 ** 30, idleMs: 1_000_000 });
const limits = { signal: new AbortController().signal, timeMs: 1_000_000, outputBytes: 1_000_000 };
for await (const result of workers.run({ kind: "spin" }, limits))
  process.stdout.write(`worker ${(result as { pid: number }).pid}.\n`);
