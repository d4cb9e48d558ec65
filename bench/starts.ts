// How long the gateway takes until it is ready, on PostgreSQL: its first start, which makes the database, and later ones,
// on Bun and on Node in turns. `bun bench/starts.ts`, `--rounds 5`, `--check`. Nothing else may run beside it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "../scripts/bundle-program.mjs";
import { BUN_SETTINGS } from "../scripts/task/bun-settings.mjs";
import { startPostgresCluster } from "../tests/support/servers/databases/postgres-cluster.ts";
import { atMost, type Goal, printGoals } from "./comparison/goals.ts";
import { median } from "./comparison/report.ts";
import { createDatabase } from "./comparison/targets.ts";
import { buildTools } from "./load/load-tools.ts";
import { startMeasured } from "./load/measured-process.ts";

const LOGS = "bench/results";
const RUNTIMES = {
  bun: {
    command: "bun",
    args: ["--no-env-file", "src/main.ts"],
    env: BUN_SETTINGS,
    laterMs: 400,
  },
  // As `npm start` does from the second time on.
  node: { command: "node", args: [await bundleProgram("src/main.ts")], env: {}, laterMs: 1_000 },
} as const;
type Runtime = keyof typeof RUNTIMES;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    check: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);

const cluster = await startPostgresCluster();
if (cluster === undefined) throw new Error("PostgreSQL is not installed.");
const upstream = await startMeasured(
  { name: "upstream", command: buildTools(), args: ["0"], ready: /listening 127\.0\.0\.1:(\d+)/ },
  LOGS,
);
const found: Record<Runtime, { first: number[]; later: number[] }> = {
  bun: { first: [], later: [] },
  node: { first: [], later: [] },
};
try {
  for (let round = 0; round < rounds; round += 1) {
    for (const runtime of ["bun", "node"] as const) {
      const dataFolder = mkdtempSync(join(tmpdir(), "gateway-starts-"));
      const databaseUrl = await createDatabase(cluster.url, `${runtime}_${round}`);
      found[runtime].first.push(await startOnce(runtime, dataFolder, databaseUrl));
      found[runtime].later.push(await startOnce(runtime, dataFolder, databaseUrl));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  }
} finally {
  await upstream.stop();
  await cluster.remove();
}

const goals: Goal[] = [];
console.log(`seconds until ready, medians of ${rounds} and the least of them`);
for (const runtime of ["bun", "node"] as const) {
  const { first, later } = found[runtime];
  console.log(`  ${runtime}: first ${shown(first)}, later ${shown(later)}`);
  goals.push(
    atMost(`a later start on ${runtime}, ms`, RUNTIMES[runtime].laterMs, median(later) ?? 0),
  );
}
printGoals(goals);
if (values.check && goals.some(({ reached }) => !reached)) process.exitCode = 1;

/** Returns the milliseconds from the start of the process until it says that it is ready. */
async function startOnce(
  runtime: Runtime,
  dataFolder: string,
  databaseUrl: string,
): Promise<number> {
  const { command, args, env } = RUNTIMES[runtime];
  const gateway = await startMeasured(
    {
      name: "gateway",
      command,
      args,
      env: {
        ...env,
        DATABASE_URL: databaseUrl,
        DATA_DIR: dataFolder,
        HOST: "127.0.0.1",
        PORT: "0",
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: `http://127.0.0.1:${upstream.port}`,
      },
      ready: /"url":"http:\/\/127\.0\.0\.1:(\d+)".*"msg":"ready"/,
    },
    LOGS,
  );
  await gateway.stop();
  return gateway.startMs;
}

function shown(all: readonly number[]): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(2);
  return `${seconds(median(all) ?? 0)} (${seconds(Math.min(...all))})`;
}
