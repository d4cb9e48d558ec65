import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../../src/config/settings.ts";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createExecuteShell } from "../../../src/tools/builtin/execute-shell.ts";
import { openShell, type Shell, type ShellParts } from "../../../src/tools/shell/open-shell.ts";
import { keyCaller, testAssistant } from "../stages/assistants.ts";

/** What the program is given, as JSON. */
export interface ShellTrial {
  readonly settings: Pick<Settings, "DATA_DIR" | "WORKSPACE_DIR">;
  readonly programFolders?: readonly string[];
  readonly commands: readonly ShellCommand[];
}

export interface ShellCommand {
  readonly command: string;
  readonly timeMs?: number;
  /** Runs it as the tool that models call, and reports its text as the output. */
  readonly isTool?: boolean;
  /** Aborts the call as soon as the workspace has this file. */
  readonly abortOn?: string;
}

/** One line of its output for each command. */
export interface ShellReport {
  readonly exitCode?: number | null;
  readonly endedFor?: string | undefined;
  readonly output?: string;
  readonly isError?: boolean | undefined;
  readonly error?: string;
  readonly durationMs: number;
  /** Time from the abort to the end of the call. */
  readonly abortMs?: number;
  /** Memory of this process, at most, above what it was before. */
  readonly growthMb: number;
}

const { settings, programFolders, commands } = JSON.parse(process.argv[2] ?? "") as ShellTrial;
const parts: ShellParts = {
  settings,
  fileConnections: openFileConnections({ ...settings, WATCH_DIRS: [] }),
  log: createLog("silent"),
  ...(programFolders !== undefined && { programFolders }),
};
try {
  const shell = await openShell(parts);
  for (const command of commands) write(await runOne(shell, command));
  shell.close();
} catch (thrown) {
  write({ error: String(thrown) });
}

async function runOne(
  shell: Shell,
  { command, timeMs = 20_000, abortOn, isTool }: ShellCommand,
): Promise<ShellReport> {
  const before = memoryMb("VmRSS");
  // From here the system counts the peak anew.
  writeFileSync("/proc/self/clear_refs", "5");
  const startedMs = performance.now();
  const client = new AbortController();
  let abortedMs = 0;
  const timer = setInterval(() => {
    if (abortOn === undefined || !existsSync(join(workspace(), abortOn))) return;
    clearInterval(timer);
    abortedMs = performance.now();
    client.abort(new Error("the client left"));
  }, 20);
  const limits = { timeMs, outputBytes: 65_536 };
  const { signal } = client;
  const run = () =>
    isTool === true ? runTool(shell, command, signal) : shell.run(command, limits, signal);
  const result = await run().catch((thrown: unknown) => ({ error: String(thrown) }));
  clearInterval(timer);
  const endMs = performance.now();
  return {
    ...result,
    durationMs: Math.round(endMs - startedMs),
    ...(abortedMs > 0 && { abortMs: Math.round(endMs - abortedMs) }),
    growthMb: Math.round(memoryMb("VmHWM") - before),
  };
}

async function runTool(shell: Shell, command: string, signal: AbortSignal) {
  const context = { caller: keyCaller("usr_1"), assistant: testAssistant(1), signal };
  const { text, isError } = await createExecuteShell(shell).run({ command }, context);
  return { output: text, isError };
}

function workspace(): string {
  return settings.WORKSPACE_DIR ?? join(settings.DATA_DIR, "workspace");
}

function memoryMb(figure: string): number {
  const status = readFileSync("/proc/self/status", "latin1");
  return Number(new RegExp(`^${figure}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
}

function write(report: object): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
