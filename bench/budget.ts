// Measures what a call and a token create in the gateway: `bun bench/budget.ts [--types]`. Objects are counted with
// garbage collection off, system calls by strace, where it is installed.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDatabase,
  startGateway,
  startTargets,
  type Target,
  type Targets,
} from "./comparison/targets.ts";
import type { Counters } from "./load/counters.ts";
import { buildTools, loadRequests, loadStreams } from "./load/load-tools.ts";

const LOGS = "bench/results";
const POLL_MS = 20;
/** Lets a load's usage reach the database before the counters are read. */
const SETTLE_MS = 600;
const PACED = { streams: 10, tokens: 200, intervalMs: 10 };

interface Load {
  readonly name: string;
  /** Returns the number of answers, or of tokens. */
  readonly run: (target: Target) => Promise<number>;
}

const LOADS: readonly Load[] = [
  {
    name: "whole answer",
    run: async (target) =>
      (await loadRequests(target, { connections: 8, seconds: 1, ratePerS: 500 })).answered,
  },
  {
    name: "burst stream of 128 tokens",
    run: async (target) =>
      (await loadStreams(target, { streams: 2, seconds: 1, tokens: 128, intervalMs: 0 })).done,
  },
  {
    name: "paced token",
    run: async (target) => {
      const { done } = await loadStreams(target, { ...PACED, seconds: 1 });
      return done * PACED.tokens;
    },
  },
];

type Types = Readonly<Record<string, number>>;

/** What one answer or one token creates. */
export interface Budget extends Counters {
  readonly name: string;
  readonly systemCalls: Types;
  /** Created objects by their type. */
  readonly types: Types;
}

/** Starts a gateway of its own beside the targets, in its own database. */
export async function measureBudget(targets: Targets): Promise<readonly Budget[]> {
  const { databaseUrl } = targets;
  const folder = mkdtempSync(join(tmpdir(), "gateway-budget-"));
  const file = join(folder, "counters");
  const gateway = await startGateway({
    name: "gateway-budget",
    upstreamPort: targets.of.direct.port,
    databaseUrl: databaseUrl && (await createDatabase(databaseUrl, "budget")),
    dataFolder: folder,
    logFolder: LOGS,
    bunArguments: ["--preload", "./bench/load/counters.ts"],
    env: { BUN_JSC_useGC: "0", COUNTERS_FILE: file },
  });
  const { pid } = gateway.process;
  try {
    const budgets: Budget[] = [];
    for (const { name, run } of LOADS) {
      await run(gateway);
      await sleep(SETTLE_MS);
      const before = await readCounters(pid, file);
      const answers = await run(gateway);
      await sleep(SETTLE_MS);
      const after = await readCounters(pid, file);
      const systemCalls = await countSystemCalls(pid, () => run(gateway));
      budgets.push({ name, systemCalls, ...perAnswer(before, after, answers) });
    }
    return budgets;
  } finally {
    await gateway.process.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds the table of all budgets side by side. */
export function budgetTable(budgets: readonly Budget[]): string {
  const figures: Readonly<Record<string, (budget: Budget) => number>> = {
    "system calls": ({ systemCalls }) => sumOf(systemCalls),
    ...systemCallFigures(budgets),
    objects: ({ objects }) => objects,
    promises: ({ promises }) => promises,
    "heap bytes": ({ heapBytes }) => heapBytes,
    timers: ({ timers }) => timers,
    immediates: ({ immediates }) => immediates,
  };
  const row = (label: string, cells: readonly string[]) =>
    `  ${label.padEnd(18)}${cells.map((cell) => cell.padStart(28)).join("")}`;
  return [
    "\nbudget of the gateway, for each",
    row(
      "",
      budgets.map(({ name }) => name),
    ),
    ...Object.entries(figures).map(([label, figure]) =>
      row(
        label,
        budgets.map((budget) => figure(budget).toFixed(figure(budget) < 100 ? 2 : 0)),
      ),
    ),
  ].join("\n");
}

/** The system calls that any load makes at least once in a hundred answers. */
function systemCallFigures(budgets: readonly Budget[]) {
  const names = new Set(budgets.flatMap(({ systemCalls }) => Object.keys(systemCalls)));
  const often = [...names].filter((name) =>
    budgets.some(({ systemCalls }) => (systemCalls[name] ?? 0) >= 0.01),
  );
  return Object.fromEntries(
    often.map((name) => [`  ${name}`, ({ systemCalls }: Budget) => systemCalls[name] ?? 0]),
  );
}

function sumOf(counts: Types): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

type Reading = Counters & { readonly types: Types };

async function readCounters(pid: number, file: string): Promise<Reading> {
  const lines = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
  const before = lines().length;
  process.kill(pid, "SIGUSR2");
  while (lines().length === before) await sleep(POLL_MS);
  return JSON.parse(lines().at(-1) ?? "");
}

function perAnswer(before: Reading, after: Reading, answers: number): Reading {
  const of = (name: keyof Counters) => (after[name] - before[name]) / answers;
  const types = Object.keys(after.types).map((type) => [
    type,
    ((after.types[type] ?? 0) - (before.types[type] ?? 0)) / answers,
  ]);
  return {
    objects: of("objects"),
    promises: of("promises"),
    heapBytes: of("heapBytes"),
    timers: of("timers"),
    immediates: of("immediates"),
    types: Object.fromEntries(types),
  };
}

/** Returns the system calls for each answer, by name; nothing where strace is missing. */
async function countSystemCalls(pid: number, run: () => Promise<number>): Promise<Types> {
  if (!hasStrace()) return {};
  const strace = spawn("strace", ["-c", "-f", "-p", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  strace.stderr.on("data", (bytes) => {
    text += bytes;
  });
  while (!text.includes("attached")) await sleep(POLL_MS);
  const answers = await run();
  strace.kill("SIGINT");
  await new Promise((resolve) => strace.once("close", resolve));
  const rows = [...text.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$/gm)];
  return Object.fromEntries(
    rows
      .filter(([, , name]) => name !== "total")
      .map(([, count, name]) => [name, Number(count) / Math.max(1, answers)]),
  );
}

function hasStrace(): boolean {
  try {
    execFileSync("strace", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const targets = await startTargets(buildTools(), { embedded: false, logFolder: LOGS });
  try {
    const budgets = await measureBudget(targets);
    console.log(budgetTable(budgets));
    if (process.argv.includes("--types")) {
      for (const { name, types } of budgets) console.log(name, mostOf(types));
    }
  } finally {
    await targets.stop();
  }
}

function mostOf(types: Types): string {
  const most = Object.entries(types).sort(([, one], [, two]) => two - one);
  return most
    .slice(0, 24)
    .map(([type, count]) => `${type} ${count.toFixed(1)}`)
    .join(", ");
}
