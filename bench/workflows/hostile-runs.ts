// Runs workflows over hostile expressions, SQL and files at full size, and watches what the gateway notices of them.
// Usage: bun bench/workflows/hostile-runs.ts [--gib 2] [--check]
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { callHttp, logIn } from "../../tests/support/clients/http-session.ts";
import { bomb } from "../../tests/support/documents/build-bombs.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { startGateway } from "../comparison/targets.ts";
import { startMeasured } from "../load/measured-process.ts";
import { watchChats } from "../load/watch-chats.ts";
import { watchHealth } from "../load/watch-health.ts";

const { values: options } = parseArgs({
  options: {
    /** The length of the CSV line, and five times that of what the workbook unpacks to. */
    gib: { type: "string", default: "2" },
    check: { type: "boolean", default: false },
  },
});
const GIB = Number(options.gib);
const MIB = 1024 * 1024;
const GOALS = { memoryMb: 100, stallMs: 50, healthP99Ms: 100 };
const TIMEOUT_S = 5;
const WARM_UP_MS = 5_000;
const POLL_MS = 100;
const RESULTS = "bench/results";
const PASSWORD = "the administrator's password";
const BUN = process.versions["bun"] === undefined ? "bun" : process.execPath;

interface Case {
  readonly name: string;
  readonly step: Readonly<Record<string, unknown>>;
  /** JSON text, because an object literal cannot have all names. One row `{"n": 1}` unless said. */
  readonly rows?: string;
  /** How it may end, in the words of its error; none: it must complete. */
  readonly codes: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "an expression of 5,000 brackets",
    step: { kind: "map", set: { x: `${"(".repeat(5_000)}1${")".repeat(5_000)}` } },
    codes: ["refused when saved"],
  },
  {
    name: "four loops over 300 numbers",
    step: {
      kind: "map",
      set: {
        x: "row.l.all(a, row.l.all(b, row.l.all(c, row.l.all(d, a + b + c + d >= 0))))",
      },
    },
    rows: JSON.stringify([{ l: Array.from({ length: 300 }, (_, n) => n) }]),
    codes: ["step_timeout"],
  },
  {
    name: "a list doubled 26 times",
    step: { kind: "map", set: { x: doubledList(26) } },
    codes: ["row_process_memory", "expression_failed"],
  },
  {
    name: "a pattern that would backtrack",
    step: { kind: "map", set: { x: "row.t.matches('^(a+)+$')" } },
    rows: JSON.stringify([{ t: `${"a".repeat(500_000)}!` }]),
    codes: [],
  },
  {
    name: "SQL that attaches a file",
    step: { kind: "sql", select: "ATTACH 'other.db' AS o" },
    codes: ["refused when saved"],
  },
  {
    name: "SQL without end",
    step: {
      kind: "sql",
      select:
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) AS n FROM r",
    },
    codes: ["step_timeout"],
  },
  {
    name: "SQL of gigabytes",
    step: {
      kind: "sql",
      select:
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT length(group_concat(hex(zeroblob(1000000)))) AS n FROM r",
    },
    codes: ["row_process_memory", "invalid_sql"],
  },
  {
    name: `a workbook that unpacks to ${5 * GIB} GiB`,
    step: { kind: "read_file", path: "bomb.xlsx" },
    codes: ["unreadable_file"],
  },
  {
    name: `a CSV of one line of ${GIB} GiB`,
    step: { kind: "read_file", path: "line.csv" },
    codes: ["unreadable_file"],
  },
  {
    name: `the same as JSON`,
    step: { kind: "read_file", path: "line.csv", format: "json" },
    codes: ["unreadable_file"],
  },
  {
    name: "a CSV of 10,001 columns",
    step: { kind: "read_file", path: "wide.csv" },
    codes: ["unreadable_file"],
  },
  {
    name: "a row with __proto__",
    step: { kind: "map", set: { x: "string(row.isAdmin)" } },
    rows: '[{"__proto__": {"isAdmin": true}, "constructor": {"prototype": {"isAdmin": true}}}]',
    codes: [],
  },
];

function doubledList(times: number): string {
  const doubled = Array.from({ length: times }, (_, n) => `cel.bind(l${n + 1}, l${n} + l${n}, `);
  return `cel.bind(l0, [1, 2, 3, 4, 5, 6, 7, 8], ${doubled.join("")}size(l${times})${")".repeat(times + 1)}`;
}

function writeFiles(workspace: string): void {
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, "bomb.xlsx"), bomb("xl/workbook.xml", 5 * 1024 * GIB));
  const names = Array.from({ length: 10_001 }, (_, n) => `c${n}`).join(",");
  writeFileSync(join(workspace, "wide.csv"), `${names}\n${names}\n`);
  const line = openSync(join(workspace, "line.csv"), "w");
  writeSync(line, "a,b\n");
  const piece = Buffer.alloc(MIB, "x");
  for (let mib = 0; mib < 1024 * GIB; mib += 1) writeSync(line, piece);
}

const folder = mkdtempSync(join(tmpdir(), "hostile-bench-"));
writeFiles(join(folder, "workspace"));
const cluster = await startPostgresCluster();
if (cluster === undefined) throw new Error("this needs PostgreSQL");
const simulator = await startMeasured(
  {
    name: "simulator",
    command: BUN,
    args: ["simulator/main.ts", "--engine", "vllm"],
    ready: /listening 127\.0\.0\.1:(\d+)/,
  },
  RESULTS,
);
const gateway = await startGateway({
  ...{ name: "gateway", dataFolder: folder, logFolder: RESULTS },
  upstreamPort: simulator.port,
  databaseUrl: cluster.url,
  env: { ADMIN_PASSWORD: PASSWORD },
});
const url = `http://127.0.0.1:${gateway.port}`;

try {
  const token = await logIn(url, "admin", PASSWORD);
  await watchChats({ url, key: gateway.key }, WARM_UP_MS);
  let isMissed = false;
  print("       ", "nothing", await watchedWhile(() => sleep(WARM_UP_MS, "")));
  for (const hostile of CASES) {
    const seen = await watchedWhile(() => outcomeOf(token, hostile));
    const isExpected =
      hostile.codes.length === 0
        ? seen.result === "completed"
        : hostile.codes.some((code) => seen.result.includes(code));
    const isReached =
      isExpected &&
      seen.grownMb <= GOALS.memoryMb &&
      seen.longestMs <= GOALS.stallMs &&
      seen.p99Ms <= GOALS.healthP99Ms;
    isMissed ||= !isReached;
    print(isReached ? "reached" : "MISSED ", hostile.name, seen);
  }
  if (options.check && isMissed) process.exitCode = 1;
} finally {
  await gateway.process.stop();
  await simulator.stop();
  await cluster.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

async function watchedWhile<T>(work: () => Promise<T>) {
  const before = gateway.process.memoryMb();
  const startedMs = performance.now();
  const health = watchHealth(gateway.port);
  const { result, use } = await gateway.process.watch(work);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { result, seconds, ...(await health.stop()), grownMb: use.peakMemoryMb - before };
}

/** Saves a workflow of one hostile step and runs it: `completed`, or the code of its error and the step it names. */
async function outcomeOf(token: string, { step, rows = '[{"n": 1}]' }: Case): Promise<string> {
  const isSource = step["kind"] === "read_file";
  const hostile = { id: "hostile", timeout_seconds: TIMEOUT_S, retries: 0, ...step };
  const input = { id: "rows", kind: "input" };
  const created = await callHttp(url, {
    ...{ method: "POST", path: "/api/pipeline/workflows", token },
    body: {
      name: `hostile ${Math.random()}`,
      steps: isSource ? [{ ...hostile, timeout_seconds: 60 }] : [input, hostile],
    },
  });
  if (created.status >= 300) return `refused when saved: ${summaryOf(created.text)}`;
  const path = `/api/pipeline/workflows/${created.body.id}/runs`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = isSource ? "{}" : `{"rows": ${rows}}`;
  const started = await fetch(url + path, { method: "POST", headers, body });
  if (!started.ok) return `refused: ${summaryOf(await started.text())}`;
  const { runId } = (await started.json()) as { runId: string };
  for (;;) {
    const { body: run } = await callHttp(url, {
      ...{ method: "GET", path: `/api/pipeline/runs/${runId}`, token },
    });
    if (run.status === "completed") return "completed";
    if (run.status === "failed") return summaryOf(JSON.stringify(run.error));
    await sleep(POLL_MS);
  }
}

function summaryOf(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

type Seen = Awaited<ReturnType<typeof watchedWhile<string>>>;

function print(verdict: string, name: string, seen: Seen): void {
  const { result, grownMb, longestMs, p99Ms } = seen;
  const health = `health p99 ${p99Ms.toFixed(0)}, longest ${longestMs.toFixed(0)} ms`;
  const figures = `${seen.seconds.toFixed(1)} s, gateway +${grownMb.toFixed(0)} MB, ${health}`;
  process.stdout.write(`${verdict} ${name}: ${figures}; ${result}\n`);
}
