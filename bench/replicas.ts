// How much two replicas answer of what one does, on PostgreSQL and Redis, each held to half a core by `cpulimit`:
// `bun bench/replicas.ts`, `--rounds 5`, `--seconds 6`, `--check`. The rest of the machine is for the others.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgresCluster } from "../tests/support/servers/databases/postgres-cluster.ts";
import { startRedisServer } from "../tests/support/servers/redis-server.ts";
import { type Goal, printGoals } from "./comparison/goals.ts";
import { median } from "./comparison/report.ts";
import { startGateway, type Target } from "./comparison/targets.ts";
import { buildTools, loadRequests } from "./load/load-tools.ts";
import { startMeasured } from "./load/measured-process.ts";

const LOGS = "bench/results";
/** Of one core. */
const LIMIT_PERCENT = 50;
const CONNECTIONS = 16;
const SETTLE_MS = 2_000;
const WANTED = 1.8;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "6" },
    check: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);

const cluster = await startPostgresCluster();
const redis = await startRedisServer();
if (cluster === undefined || redis === undefined)
  throw new Error("PostgreSQL and Redis are needed.");
const upstream = await startMeasured(
  { name: "upstream", command: buildTools(), args: ["0"], ready: /listening 127\.0\.0\.1:(\d+)/ },
  LOGS,
);
const folders = [1, 2].map((replica) => mkdtempSync(join(tmpdir(), `gateway-replica-${replica}-`)));
const replicas: Target[] = [];
const ratios: number[] = [];
try {
  for (const [place, dataFolder] of folders.entries()) {
    const replica = await startGateway({
      name: `replica-${place + 1}`,
      ...{ dataFolder, databaseUrl: cluster.url, logFolder: LOGS, upstreamPort: upstream.port },
      env: { REDIS_URL: redis.url, APP_SECRET: "s".repeat(64) },
    });
    replicas.push(replica);
    hold(replica.process.pid);
  }
  await sleep(SETTLE_MS);
  const [first] = replicas;
  if (first === undefined) throw new Error("No replica has started.");
  // One round warms up.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const one = await answered([first]);
    const both = await answered(replicas);
    if (round === 0) continue;
    ratios.push(both / one);
    console.log(`round ${round}: one ${one.toFixed(0)}/s, both ${both.toFixed(0)}/s`);
  }
} finally {
  for (const { process: replica } of replicas) await replica.stop();
  await upstream.stop();
  await redis.remove();
  await cluster.remove();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

const ratio = median(ratios) ?? 0;
const goal: Goal = {
  name: "two replicas at half a core, to one",
  wanted: `at least ${WANTED}`,
  found: ratio,
  reached: ratio >= WANTED,
};
printGoals([goal]);
if (values.check && !goal.reached) process.exitCode = 1;

/** Returns the answers a second of all of them. Each is asked on connections of its own. */
async function answered(targets: readonly Target[]): Promise<number> {
  const load = { connections: CONNECTIONS, seconds, ratePerS: 0 };
  const loads = await Promise.all(targets.map((target) => loadRequests(target, load)));
  return loads.reduce((sum, found) => sum + found.answered, 0) / seconds;
}

/** It ends with the process that it holds. */
function hold(pid: number): void {
  const holder = spawn("cpulimit", ["-l", String(LIMIT_PERCENT), "-z", "-p", String(pid)], {
    stdio: "ignore",
  });
  process.once("exit", () => holder.kill());
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
