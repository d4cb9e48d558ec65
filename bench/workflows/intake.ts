// Measures how many webhooks are accepted a second, what one large body costs, and what 100 webhooks a second cost 100
// chats a second. Usage: bun bench/workflows/intake.ts [--only rate,large,chats] [--embedded] [--seconds 30]
// [--senders 64] [--rounds 3]. Chats need a C compiler.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { count, eq } from "drizzle-orm";
import { BUN_SETTINGS } from "../../scripts/task/bun-settings.mjs";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open-db.ts";
import { users } from "../../src/db/tables/users.ts";
import {
  workflowQueues,
  workflowRuns,
  workflows,
  workflowVersions,
} from "../../src/db/tables/workflows.ts";
import { randomBase62 } from "../../src/lib/id.ts";
import { createLog } from "../../src/lib/log.ts";
import { percentile } from "../../tests/support/percentile.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { buildTools } from "../load/load-tools.ts";
import { type MeasuredProcess, startMeasured } from "../load/measured-process.ts";
import { measureBesideChats } from "./intake-chats.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "rate,large,chats" },
    embedded: { type: "boolean", default: false },
    seconds: { type: "string", default: "30" },
    senders: { type: "string", default: "64" },
    rounds: { type: "string", default: "3" },
  },
});
const PARTS = options.only.split(",");
const SECONDS = Number(options.seconds);
const SENDERS = Number(options.senders);
const WORKFLOWS = 10;
const GOAL = options.embedded ? 150 : 500;
const LARGE_ROWS = 100_000;
const LARGE_MAX_MS = 2_000;
const STALL_MAX_MS = 100;
const PROBE_MS = 5;
const KEY = "sk-benchmark0123456789abcdefghijklmnopqrstuvwxyz";
const BUN = process.versions["bun"] === undefined ? "bun" : process.execPath;
const BODY = JSON.stringify([{ ticket: 4711, text: "The lid does not close.", at: "2026-11-23" }]);

/** Every call that was answered with 202, the warm-up's too. */
const sent = { accepted: 0 };
const folder = mkdtempSync(join(tmpdir(), "intake-bench-"));
const cluster = options.embedded ? undefined : await startPostgresCluster({ isDurable: true });
const upstream = PARTS.includes("chats")
  ? await startMeasured(
      {
        ...{ name: "upstream", command: buildTools(), args: ["0"] },
        ready: /listening 127\.0\.0\.1:(\d+)/,
      },
      "bench/results",
    )
  : undefined;
const settings = {
  DATA_DIR: folder,
  LLM_BACKEND: "vllm",
  LLM_BASE_URL: `http://127.0.0.1:${upstream?.port ?? 9}`,
  BOOTSTRAP_API_KEY: KEY,
  PIPELINE_MAX_QUEUED_RUNS: "100000",
  // Nothing ends: the queues only grow.
  WORKFLOW_CONCURRENCY: "0",
  ...(cluster && { DATABASE_URL: cluster.url }),
};
const start = () =>
  startMeasured(
    {
      name: "gateway",
      command: BUN,
      args: ["--no-env-file", "src/main.ts"],
      env: { ...BUN_SETTINGS, ...settings, HOST: "127.0.0.1", PORT: "0" },
      ready: /"address":"127\.0\.0\.1:(\d+)"/,
    },
    "bench/results",
  );

try {
  // The first start makes the schema and an owner; the embedded database has one process at a time.
  const first = await start();
  await first.stop();
  const addresses = await inDatabase(addWorkflows);
  const gateway = await start();
  const url = `http://127.0.0.1:${gateway.port}`;
  try {
    await sendFor(url, addresses, 2);
    const met: boolean[] = [];
    if (PARTS.includes("rate")) met.push(await measureRate(gateway, addresses));
    if (PARTS.includes("large")) met.push(await measureLarge(url, addresses[0] ?? ""));
    if (PARTS.includes("chats")) {
      let turn = 0;
      const send = () => post(url, addresses[turn++ % addresses.length] ?? "", BODY);
      const address = { port: gateway.port, key: KEY };
      const rounds = Number(options.rounds);
      met.push(await measureBesideChats({ address, rounds, seconds: SECONDS, send }));
    }
    await gateway.stop();
    const stored = await inDatabase(async ({ db }) => {
      const [found] = await db.select({ runs: count() }).from(workflowRuns);
      return found?.runs ?? 0;
    });
    const answered = sent.accepted;
    console.log(`runs stored ${stored}, answered with 202: ${answered}`);
    if (met.includes(false) || stored !== answered) process.exitCode = 1;
  } finally {
    await gateway.stop();
  }
} finally {
  await upstream?.stop();
  await cluster?.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Returns whether the goal is met. */
async function measureRate(
  gateway: MeasuredProcess,
  addresses: readonly string[],
): Promise<boolean> {
  const url = `http://127.0.0.1:${gateway.port}`;
  const { result, use } = await gateway.watch(() => sendFor(url, addresses, SECONDS));
  const rate = result.accepted / SECONDS;
  const { latencies } = result;
  console.log(
    `${options.embedded ? "embedded database" : "PostgreSQL, fsync on"}: ${Math.round(rate)} accepted/s (goal ${GOAL}), ` +
      `p50 ${percentile(latencies, 0.5).toFixed(1)} ms, p99 ${percentile(latencies, 0.99).toFixed(1)} ms, ` +
      `others ${JSON.stringify(result.others)}, gateway ${use.cpuSeconds.toFixed(1)} s CPU, ${Math.round(use.peakMemoryMb)} MB`,
  );
  return rate >= GOAL;
}

/** Returns whether the goals are met. */
async function measureLarge(url: string, address: string): Promise<boolean> {
  const { bytes, tookMs, stallMs, usualMs } = await sendLarge(url, address);
  console.log(
    `${LARGE_ROWS} rows, ${(bytes / 1e6).toFixed(1)} MB in one body: ${Math.round(tookMs)} ms (goal ${LARGE_MAX_MS}), ` +
      `longest answer of /api/health beside it ${Math.round(stallMs)} ms (goal ${STALL_MAX_MS}), before it ${Math.round(usualMs)} ms`,
  );
  return tookMs <= LARGE_MAX_MS && stallMs <= STALL_MAX_MS;
}

async function inDatabase<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
  const database = await openDatabase(loadConfig(settings).settings, createLog("error"));
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Workflows whose address is their credential. */
async function addWorkflows({ db }: Database): Promise<readonly string[]> {
  const [owner] = await db.select().from(users).where(eq(users.role, "admin")).limit(1);
  const definition = { triggers: [], steps: [{ id: "take", kind: "input" }] };
  const addresses = Array.from({ length: WORKFLOWS }, () => `whu_${randomBase62(43)}`);
  for (const address of addresses) {
    const workflowId = `wf_${randomBase62(22)}`;
    await db.insert(workflows).values({
      id: workflowId,
      name: "measured",
      ownerId: owner?.id ?? null,
      definition,
      webhookUrlHash: createHash("sha256").update(address).digest("hex"),
    });
    await db.insert(workflowVersions).values({ workflowId, version: 1, definition });
    await db.insert(workflowQueues).values({ workflowId });
  }
  return addresses;
}

interface Load {
  accepted: number;
  readonly latencies: number[];
  readonly others: Record<number, number>;
}

async function sendFor(url: string, addresses: readonly string[], seconds: number): Promise<Load> {
  const load: Load = { accepted: 0, latencies: [], others: {} };
  const endsAt = performance.now() + seconds * 1_000;
  const sender = async (index: number) => {
    for (let turn = index; performance.now() < endsAt; turn += 1) {
      const from = performance.now();
      const status = await post(url, addresses[turn % addresses.length] ?? "", BODY);
      load.latencies.push(performance.now() - from);
      if (status === 202) load.accepted += 1;
      else load.others[status] = (load.others[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, index) => sender(index)));
  return load;
}

async function post(url: string, address: string, body: string): Promise<number> {
  const response = await fetch(`${url}/api/pipeline/webhook/${address}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  await response.arrayBuffer();
  if (response.status === 202) sent.accepted += 1;
  return response.status;
}

/** Sends one large body, and asks for the health all the while: an answer waits as long as the event loop is held. */
async function sendLarge(url: string, address: string) {
  const row = (n: number) => ({ n, name: `row ${n}`, text: "x".repeat(60), flag: n % 2 === 0 });
  const body = JSON.stringify(Array.from({ length: LARGE_ROWS }, (_, n) => row(n)));
  const usualMs = await slowestHealth(url, () => sleep(1_000));
  let tookMs = 0;
  const stallMs = await slowestHealth(url, async () => {
    const from = performance.now();
    const status = await post(url, address, body);
    tookMs = performance.now() - from;
    if (status !== 202) throw new Error(`the large body was answered with ${status}`);
  });
  return { bytes: Buffer.byteLength(body), usualMs, tookMs, stallMs };
}

async function slowestHealth(url: string, beside: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let slowest = 0;
  const probe = async () => {
    while (!isOver) {
      const from = performance.now();
      await (await fetch(`${url}/api/health`)).arrayBuffer();
      slowest = Math.max(slowest, performance.now() - from);
      await sleep(PROBE_MS);
    }
  };
  const probing = probe();
  await beside();
  isOver = true;
  await probing;
  return slowest;
}
