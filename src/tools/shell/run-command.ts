import { type ChildProcessByStdio, spawn } from "node:child_process";
import { statfs } from "node:fs/promises";
import type { Readable } from "node:stream";
import { BoundedOutput } from "./bounded-output.ts";
import { type Sandbox, sandboxArguments } from "./sandbox.ts";
import { treeMemory } from "./tree-memory.ts";

const MIB = 1024 * 1024;
/** Of all processes of a command. */
const MEMORY_BYTES = 512 * MIB;
/** More output than this ends the command: reading it costs the server time. */
const OUTPUT_MAX_BYTES = 16 * MIB;
/** The free space that a command may take, and no more than half of it. */
const DISK_BYTES = 1024 * MIB;
const DISK_FILES = 100_000;
const LOOK_MS = 100;
/** Looking takes at most this part of the server's time. */
const LOOK_SHARE = 0.05;
/** What the sandbox itself reports. */
const STDERR_BYTES = 2_048;
/** A killed process that waits for a device ends only when that answers. */
const END_MS = 5_000;

/** Why a command was ended. */
export type CommandEnd = "time" | "memory" | "output" | "disk";

export interface CommandResult {
  /** Null: it was ended. */
  readonly exitCode: number | null;
  readonly endedFor: CommandEnd | undefined;
  /** Both outputs, in order, cut in the middle. */
  readonly output: string;
}

export interface CommandLimits {
  readonly timeMs: number;
  /** Bytes of the output that are kept. */
  readonly outputBytes: number;
}

/** The sandbox could not be made. The message is bubblewrap's own. */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * Runs a command in the sandbox. When it ends, or the signal aborts, all its processes end with it. Rejects with a
 * `SandboxFailure`, or the signal's reason.
 */
export async function runCommand(
  sandbox: Sandbox,
  command: string,
  { timeMs, outputBytes }: CommandLimits,
  signal: AbortSignal,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const child = start(sandbox, command);
  const output = new BoundedOutput(outputBytes);
  let endedFor: CommandEnd | undefined;
  const end = (reason: CommandEnd) => {
    endedFor ??= reason;
    child.kill("SIGKILL");
  };
  const abort = () => void child.kill("SIGKILL");
  const timer = setTimeout(() => end("time"), timeMs);
  signal.addEventListener("abort", abort, { once: true });
  const endWatch = watch(child, sandbox.workspace, end);
  child.stdout.on("data", (chunk: Buffer) => {
    output.add(chunk);
    if (output.bytes > OUTPUT_MAX_BYTES) end("output");
  });
  const faults = new BoundedOutput(STDERR_BYTES);
  child.stderr.on("data", (chunk: Buffer) => faults.add(chunk));
  try {
    const exitCode = await ended(child);
    signal.throwIfAborted();
    if (faults.bytes > 0 && endedFor === undefined) throw new SandboxFailure(faults.text().trim());
    return { exitCode: endedFor === undefined ? exitCode : null, endedFor, output: output.text() };
  } finally {
    clearTimeout(timer);
    endWatch();
    signal.removeEventListener("abort", abort);
  }
}

/** Killing this process kills all of the sandbox: its first process is bound to it, and all others to that. */
function start(sandbox: Sandbox, command: string): Child {
  const child = spawn(sandbox.programs.bwrap, sandboxArguments(sandbox, command), {
    // A signal to the server's group is for the server.
    detached: true,
    cwd: "/",
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (child.stdout !== undefined) return child;
  // The event that tells why would end the server if nobody heard it.
  child.on("error", () => undefined);
  throw new SandboxFailure("the server has no file descriptor left");
}

/** Resolves with the exit code when all output has been read; null when a signal ended it. */
function ended(child: Child): Promise<number | null> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const close = () => {
      clearTimeout(timer);
      resolve(child.exitCode);
    };
    child.once("error", (error) => reject(new SandboxFailure(error.message)));
    child.once("close", close);
    child.once("exit", () => {
      timer = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        close();
      }, END_MS);
    });
  });
}

/** Calls `end` when the command takes too much memory or disk. Returns the end of the watch. */
function watch(child: Child, workspace: string, end: (reason: CommandEnd) => void): () => void {
  const { pid } = child;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const isDiskTaken = diskWatch(workspace);
  const look = async () => {
    const startedMs = performance.now();
    if (pid !== undefined && treeMemory(pid) > MEMORY_BYTES) end("memory");
    const tookMs = performance.now() - startedMs;
    if (await isDiskTaken()) end("disk");
    if (!isOver) timer = setTimeout(look, Math.max(LOOK_MS, tookMs / LOOK_SHARE)).unref();
  };
  void look();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function diskWatch(folder: string): () => Promise<boolean> {
  let least: { readonly bytes: number; readonly files: number } | undefined;
  return async () => {
    const free = await freeOf(folder);
    if (free === undefined) return false;
    least ??= {
      bytes: free.bytes - Math.min(DISK_BYTES, free.bytes / 2),
      files: free.files - Math.min(DISK_FILES, free.files / 2),
    };
    return free.bytes < least.bytes || free.files < least.files;
  };
}

async function freeOf(folder: string) {
  try {
    const { bavail, bsize, ffree } = await statfs(folder);
    return { bytes: bavail * bsize, files: ffree };
  } catch {
    // Then only the limits of the sandbox apply.
    return undefined;
  }
}
