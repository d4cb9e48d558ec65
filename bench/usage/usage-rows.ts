// Measures queries over ten million usage rows.
// Usage: bun bench/usage/usage-rows.ts [rows], or the same with node --import tsx.
// Takes some minutes and about 600 bytes of disk per row in the temporary folder, and cleans up.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { startSimulator } from "../../simulator/simulator.ts";
import { connect } from "../../src/db/connect.ts";
import type { Db } from "../../src/db/context.ts";
import { DAY_MS, dayOf } from "../../src/db/days/day-table.ts";
import { migrate } from "../../src/db/migrate.ts";
import { dropUsageDays } from "../../src/usage/sums/drop-usage-days.ts";
import { foldModelHours, foldUsageHours } from "../../src/usage/sums/fold-usage-hours.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { type MeasuredProcess, startMeasured } from "../load/measured-process.ts";
import { watchStreams } from "../load/watch-streams.ts";
import { DAYS, fillKeys, fillUsage, QUIET } from "./fill-usage.ts";

const ROWS = Number(process.argv[2] ?? 10_000_000);
const CALLS = 50;
const WAIT_MS = 10_000;
const PASSWORD = "bench-0123456789";
const API_KEY = "sk-bench-0123456789abcdefghijklmnopqrstuvwxyz";
const METRICS_TOKEN = "bench-metrics-0123456789";
const LIMIT_MS = 200;
const WINDOW_MS = 4_000;

const today = dayOf(Date.now());
const folder = mkdtempSync(join(tmpdir(), "usage-rows-"));
const tidy: (() => Promise<unknown>)[] = [
  () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
];

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function sayRow(name: string, ...figures: readonly (string | number)[]): void {
  const texts = figures.map((figure) =>
    (typeof figure === "number" ? figure.toFixed(1) : figure).padStart(12),
  );
  say(name.padEnd(44) + texts.join(""));
}

async function run(): Promise<void> {
  const cluster = await startPostgresCluster();
  if (cluster === undefined) throw new Error("this needs PostgreSQL");
  tidy.push(cluster.remove);
  const driver = { max: 4, idle_timeout: 5 };
  const database = connect({ kind: "postgres", url: cluster.url, waitMs: WAIT_MS, driver });
  tidy.push(database.close);
  const { db } = database;
  await migrate(database);
  await fill(db);
  const simulator = await startSimulator({ engine: "vllm" });
  tidy.push(simulator.stop);
  simulator.script({
    match: { body: '"stream":true' },
    times: "always",
    text: "word ",
    repeat: 2_000,
    tokensPerSecond: 40,
  });
  const server = await startServer(cluster.url, simulator.url);
  tidy.push(server.stop);
  await fillKeys(db);
  await measureReads(server, db);
  await measurePurge(server, db);
}

async function fill(db: Db): Promise<void> {
  // Only for the filling; the measurements run with fsync on.
  await db.execute(sql`alter system set fsync = off`);
  await db.execute(sql`alter system set autovacuum = off`);
  await db.execute(sql`select pg_reload_conf()`);
  const from = performance.now();
  await fillUsage(db, today, ROWS);
  await db.execute(sql`alter system reset all`);
  await db.execute(sql`select pg_reload_conf()`);
  const [size] = await db.execute<{ size: string; hours: number; models: number }>(sql`
    select pg_size_pretty(pg_database_size(current_database())) as size,
      (select count(*)::int from usage_hours) as hours, (select count(*)::int from model_hours) as models`);
  const seconds = ((performance.now() - from) / 1_000).toFixed(0);
  say(
    `${ROWS} rows over ${DAYS} days, ${size?.hours} sums by hour, ${size?.models} over all keys, ${size?.size}, filled in ${seconds} s`,
  );
}

function startServer(databaseUrl: string, engineUrl: string): Promise<MeasuredProcess> {
  const onBun = process.versions["bun"] !== undefined;
  return startMeasured(
    {
      name: "gateway",
      command: process.execPath,
      args: onBun ? ["src/main.ts"] : ["--import", "tsx", "src/main.ts"],
      env: {
        HOST: "127.0.0.1",
        PORT: "0",
        DATA_DIR: folder,
        DATABASE_URL: databaseUrl,
        ADMIN_PASSWORD: PASSWORD,
        BOOTSTRAP_API_KEY: API_KEY,
        LLM_BACKEND: "vllm",
        LLM_BASE_URL: engineUrl,
        METRICS_ENABLED: "1",
        METRICS_TOKEN,
      },
      ready: /"url":"http:\/\/127\.0\.0\.1:(\d+)"/,
    },
    folder,
  );
}

async function measureReads(server: MeasuredProcess, db: Db): Promise<void> {
  const url = `http://127.0.0.1:${server.port}`;
  const token = await logIn(url);
  const [row] = await db.execute<{ id: string }>(
    sql`select id from usage_records where started_at < now() - interval '40 days' limit 1`,
  );
  const [keyId, rareKey] = [3, 480].map((key) => `key_${String(key).padStart(22, "0")}`);
  const from = new Date(today - 30 * DAY_MS).toISOString();
  const quietTo = new Date(today - QUIET.to * DAY_MS).toISOString();
  const groups = [
    "hour",
    "hour,model",
    "hour,channel",
    "hour&model=model-3",
    "hour&channel=chat",
    "hour,model&channel=chat",
    "hour,channel&model=model-3",
    "hour,key",
    "hour,key&offset=100000",
    "hour,key&model=model-3",
    "hour,user",
    "day",
    "month",
    "key",
    "model",
    "channel",
    "user",
    "day,model",
    "day,key",
  ];
  // For a partial day the hours are summed.
  const noon = new Date(today - 30 * DAY_MS + DAY_MS / 2).toISOString();
  const reads: readonly (readonly [path: string, token: string])[] = [
    ["/metrics", METRICS_TOKEN],
    ...groups.map((group) => [`/api/usage?from=${from}&group=${group}`, token] as const),
    [`/api/usage?group=channel&from=${noon}`, token],
    [`/api/usage?from=${from}&group=hour&key_id=${keyId}`, token],
    ["/api/requests", token],
    [`/api/requests?key_id=${keyId}`, token],
    [`/api/requests?key_id=${rareKey}&limit=1000`, token],
    ["/api/requests?model=model-3", token],
    ["/api/requests?model=no-such-model", token],
    ["/api/requests?outcome=error", token],
    ["/api/requests?status=502", token],
    // A filter without an index that matches nothing: it searches from now on, through the quiet month into days with
    // many rows.
    ["/api/requests?channel=audio&status=299", token],
    [`/api/requests?channel=audio&status=299&to=${quietTo}`, token],
    [`/api/requests?request_id=${row?.id}`, token],
    ["/api/requests?request_id=of-another-make", token],
  ];
  for (const [path, bearer] of reads) await timeCall(url + path, bearer);
  const memoryMb = server.memoryMb();
  sayRow("", "p50 ms", "p95 ms", "refused", `< ${LIMIT_MS} ms`);
  for (const [path, bearer] of reads) {
    const calls: Call[] = [];
    for (let index = 0; index < CALLS; index += 1) calls.push(await timeCall(url + path, bearer));
    const times = calls.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
    const [p50 = 0, p95 = 0] = [0.5, 0.95].map((part) => times[Math.ceil(part * CALLS) - 1]);
    const refused = calls.filter(({ status }) => status !== 200).length;
    const name = path
      .replace(/from=[^&]*&/, "")
      .replace(/from=[^&]*$/, "from=noon")
      .replace(/to=.*/, "to=…")
      .replace(/(req_|key_0+)/, "");
    sayRow(name, p50, p95, String(refused), p95 < LIMIT_MS && refused === 0 ? "yes" : "NO");
  }
  const grownMb = server.memoryMb() - memoryMb;
  sayRow("memory of the server, growth in MB", grownMb, "", "", grownMb < 50 ? "yes" : "NO");
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "admin", password: PASSWORD }),
  });
  const { token } = (await response.json()) as { token: string };
  return token;
}

interface Call {
  readonly status: number;
  /** The time until the last byte of the answer. */
  readonly tookMs: number;
}

async function timeCall(url: string, token: string): Promise<Call> {
  const from = performance.now();
  const { status, body } = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  for await (const _ of body ?? []);
  return { status, tookMs: performance.now() - from };
}

async function measurePurge(server: MeasuredProcess, db: Db): Promise<void> {
  const target = { url: `http://127.0.0.1:${server.port}`, key: API_KEY };
  const oldest = today - (DAYS - 1) * DAY_MS;
  const quiet = await watchStreams(target, () => sleep(WINDOW_MS));
  let purgeMs = 0;
  let rows = 0;
  const purged = await watchStreams(target, async () => {
    await sleep(WINDOW_MS / 2);
    const from = performance.now();
    const dropped = await dropUsageDays(db, oldest + DAY_MS);
    purgeMs = performance.now() - from;
    rows = dropped.isDone ? dropped.rows : 0;
    await sleep(WINDOW_MS / 2);
  });
  let foldMs = 0;
  const folded = await watchStreams(target, async () => {
    const from = performance.now();
    await foldUsageHours(db, oldest + DAY_MS);
    await foldModelHours(db, oldest + DAY_MS);
    foldMs = performance.now() - from;
    await sleep(WINDOW_MS / 2);
  });
  const load = "20 streams, 50 requests/s";
  sayRow(load, "took ms", "gap ms", "answer p99", "failed");
  sayRow("  nothing else", "", quiet.gapMs, quiet.p99Ms, quiet.failures);
  sayRow(`  purge of a day (${rows} rows)`, purgeMs, purged.gapMs, purged.p99Ms, purged.failures);
  sayRow("  fold of a day's hours", foldMs, folded.gapMs, folded.p99Ms, folded.failures);
}

try {
  await run();
} finally {
  for (const work of tidy.reverse()) await work();
}
