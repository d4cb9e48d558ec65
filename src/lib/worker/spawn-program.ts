import { type ChildProcessByStdio, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { getPriority, setPriority } from "node:os";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { WorkFailure } from "./work-failure.ts";

const MIB = 1024 * 1024;

export type ChildProgram = ChildProcessByStdio<Writable, Readable, null>;

export interface SpawnOptions {
  /** What the runtime may use for its heap: it collects garbage before that. */
  readonly heapBytes: number;
  /** Nobody waits for it: it takes what processor time the calls leave. */
  readonly isBackground?: boolean;
}

/** It gets a third of the server's processor time where both want all of it: its own time limit counts on. */
const BACKGROUND_STEPS = 5;
const LOWEST_PRIORITY = 19;

const OUT_OF_DESCRIPTORS =
  "No further process can be started: the server has no file descriptor left. Raise its limit of open files.";

/**
 * Starts a module of this program as a process of its own, in this runtime. It sees none of the server's environment,
 * and it is the first to end when the machine runs out of memory. Named by a `new URL` relative to
 * `import.meta.url`, it is made together with the server where that is made one program, and starts sooner. Throws a
 * `WorkFailure` where no file descriptor is left.
 */
export function spawnProgram(
  program: string,
  { heapBytes, isBackground = false }: SpawnOptions,
): ChildProgram {
  const heapMb = Math.floor(heapBytes / MIB);
  const flags =
    process.versions["bun"] === undefined
      ? [`--max-old-space-size=${heapMb}`, ...loaderOf(program)]
      : ["--no-env-file"];
  const child = spawn(process.execPath, [...flags, program], {
    // The process must not see the server's secrets.
    env: { BUN_JSC_forceRAMSize: String(heapMb * MIB) },
    stdio: ["pipe", "pipe", "ignore"],
  });
  // Where the system refuses a start it tells so by this event, which would end the server if nobody heard it.
  child.on("error", () => undefined);
  if (child.stdout === undefined) throw new WorkFailure("failed", OUT_OF_DESCRIPTORS);
  const { pid } = child;
  if (pid === undefined) return child;
  killFirst(pid);
  if (isBackground) yieldToCalls(pid);
  return child;
}

/** Where the server was made one program, so were those that it starts. */
function loaderOf(program: string): readonly string[] {
  if (!program.endsWith(".ts")) return [];
  return ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href];
}

/** When the machine runs out of memory, the system ends this process instead of the server. */
function killFirst(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // The system has no such file, or the process has ended.
  }
}

/** Threads that it starts later inherit it. */
function yieldToCalls(pid: number): void {
  try {
    setPriority(pid, Math.min(LOWEST_PRIORITY, getPriority() + BACKGROUND_STEPS));
  } catch {
    // It has ended, or the system does not let it.
  }
}
