import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

const START_MS = 30_000;
const STOP_MS = 15_000;
const POLL_MS = 20;
const SAMPLE_MS = 200;
/** `getconf CLK_TCK` on every Linux we know. */
const TICKS_PER_SECOND = 100;

/** The resources that one process used during some work. */
export interface ProcessUse {
  readonly cpuSeconds: number;
  readonly peakMemoryMb: number;
}

/** A program under measurement; its output is in a log file beside the results. */
export interface MeasuredProcess {
  readonly pid: number;
  readonly port: number;
  readonly startMs: number;
  readonly memoryMb: () => number;
  /** Watches the process while `work` runs. */
  readonly watch: <T>(
    work: () => Promise<T>,
  ) => Promise<{ readonly result: T; readonly use: ProcessUse }>;
  readonly stop: () => Promise<void>;
}

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Finds the port in the program's output once it is ready. */
  readonly ready: RegExp;
}

/** Starts a program and waits until it reports that it is ready. Rejects with the path of its log. */
export async function startMeasured(program: Program, logFolder: string): Promise<MeasuredProcess> {
  mkdirSync(logFolder, { recursive: true });
  const logFile = join(logFolder, `${program.name}.log`);
  const log = openSync(logFile, "w");
  const startedMs = performance.now();
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(program.command, program.args, {
    stdio: ["ignore", log, log],
    env: { PATH, HOME, ...program.env },
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const port = await waitForPort(child, program, logFile);
  return {
    pid: child.pid ?? 0,
    port,
    startMs: performance.now() - startedMs,
    memoryMb: () => memoryMb(child),
    watch: (work) => watch(child, work),
    stop: () => stop(child),
  };
}

async function waitForPort(
  child: ChildProcess,
  program: Program,
  logFile: string,
): Promise<number> {
  for (
    const endMs = performance.now() + START_MS;
    performance.now() < endMs;
    await sleep(POLL_MS)
  ) {
    const port = program.ready.exec(readFileSync(logFile, "utf8"))?.[1];
    if (port !== undefined) return Number(port);
    if (child.exitCode !== null) break;
  }
  child.kill("SIGKILL");
  throw new Error(`${program.name} did not start:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
}

async function watch<T>(child: ChildProcess, work: () => Promise<T>) {
  const cpuBefore = cpuSeconds(child.pid);
  let peakMemoryMb = memoryMb(child);
  const timer = setInterval(() => {
    peakMemoryMb = Math.max(peakMemoryMb, memoryMb(child));
  }, SAMPLE_MS);
  try {
    const result = await work();
    return { result, use: { cpuSeconds: cpuSeconds(child.pid) - cpuBefore, peakMemoryMb } };
  } finally {
    clearInterval(timer);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(timer);
}

function memoryMb(child: ChildProcess): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readProcess(child.pid, "status"))?.[1] ?? "0";
  return Number(kilobytes) / 1024;
}

/** The processor time of a process so far. */
export function cpuSeconds(pid: number | undefined): number {
  // The name in parentheses can contain spaces; user and system time are the 12th and 13th fields after it.
  const fields = readProcess(pid, "stat").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function readProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    throw new Error("a measured program ended during the run", { cause: error });
  }
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
