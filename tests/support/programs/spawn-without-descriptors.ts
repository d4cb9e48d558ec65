import { execFileSync } from "node:child_process";
import { openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openWorkers } from "../../../src/lib/worker/open-workers.ts";

/** Runs a job when no file descriptor is left, writes what became of it, and goes on. */
const DESCRIPTORS = 128;

const program = fileURLToPath(new URL("./do-jobs.ts", import.meta.url));
const workers = openWorkers({ program, processes: 1, memoryBytes: 2 ** 30, idleMs: 1_000_000 });
const limits = { signal: new AbortController().signal, timeMs: 1_000_000, outputBytes: 1_000_000 };
execFileSync("prlimit", ["--pid", `${process.pid}`, `--nofile=${DESCRIPTORS}`]);
const isFull = () => {
  try {
    openSync("/dev/null", "r");
    return false;
  } catch {
    return true;
  }
};
while (!isFull());
try {
  for await (const _ of workers.run({ kind: "describe" }, limits));
} catch (thrown) {
  process.stdout.write(`${thrown}\n`);
}
// An event that nobody hears would still end this process with another code than 0.
process.stdout.write("it goes on\n");
