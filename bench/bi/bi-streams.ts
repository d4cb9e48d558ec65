// Measures 1,000 token streams at 20 tokens/s without BI clients and beside them, in alternating rounds: eight in heavy
// joins and one that reads a CSV of all requests. The streams begin one after another, with --at-once in a tenth of a
// second. Usage: bun bench/bi/bi-streams.ts [--rows 1000000] [--rounds 3] [--readers joins,csv] [--at-once]
// [--database URL] [--check]. Needs PostgreSQL, a C compiler and Linux. With --check it fails when
// the p99 of the gaps grows by more than 15 ms, a stream breaks, or the CSV comes at less than 100 MB a minute.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { BUN_SETTINGS } from "../../scripts/task/bun-settings.mjs";
import { callHttp, logIn } from "../../tests/support/clients/http-session.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { buildTools, loadStreams, type StreamLoad } from "../load/load-tools.ts";
import { type LoopLag, watchLoopLag } from "../load/loop-lag.ts";
import { type MeasuredProcess, startMeasured } from "../load/measured-process.ts";
import { openDataStage } from "./data-stage.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
    readers: { type: "string", default: "joins,csv" },
    database: { type: "string" },
    "at-once": { type: "boolean" },
    check: { type: "boolean" },
  },
});
const KEY = "sk-benchmark0123456789abcdefghijklmnopqrstuvwxyz";
const PASSWORD = "a good password";
const SECRET = "a secret of benchmarks, of 32 characters or more";
const READERS = values.readers.split(",");
const JOINERS = READERS.includes("joins") ? 8 : 0;
const STREAMS = {
  ...{ streams: 1_000, tokens: 128, intervalMs: 50 },
  // A thousand streams of 6.4 s: as many begin a second as end.
  ...(values["at-once"] === true ? { seconds: 8 } : { seconds: 12, startsPerS: 160 }),
};
const MOST_MORE_MS = 15;
const LEAST_MB_PER_MINUTE = 100;
const JOIN = `select a.model, count(*), sum(b.latency_ms) from data.requests a join data.requests b
  on b.key_id = a.key_id and b.started_at between a.started_at and a.started_at + interval '1 minute'
  group by 1 order by 2 desc`;

interface Watched {
  readonly streams: StreamLoad;
  /** Of the gateway's event loop. */
  readonly lag: LoopLag;
}

interface Beside extends Watched {
  /** Those that ended meanwhile. */
  readonly joins: number;
  readonly csvMbPerMinute: number;
}

interface Reader {
  readonly url: string;
  readonly key: string;
  /** Of the PostgreSQL protocol. */
  readonly port: number;
  readonly gatewayPort: number;
}

const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
const cluster = values.database === undefined ? await startPostgresCluster() : undefined;
const database = values.database ?? cluster?.url;
if (database === undefined) throw new Error("this needs PostgreSQL");
const stage = await openDataStage(database, Number(values.rows));
await stage.close();
const { upstream, gateway } = await startServers(database);
try {
  const reader = await issueReader(gateway);
  const rounds: { readonly alone: Watched; readonly beside: Beside }[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const alone = await loadWatched(gateway.port);
    const beside = await readBeside(reader);
    rounds.push({ alone, beside });
    say(`round ${round + 1}, alone: ${shown(alone)}`);
    const { joins, csvMbPerMinute } = beside;
    say(
      `  beside ${joins} joins and a CSV at ${Math.round(csvMbPerMinute)} MB a minute: ${shown(beside)}`,
    );
  }
  const more = medianOf(
    rounds,
    ({ alone, beside }) => beside.streams.gapMs.p99 - alone.streams.gapMs.p99,
  );
  const csv = medianOf(rounds, ({ beside }) => beside.csvMbPerMinute);
  const broken = rounds.reduce(
    (sum, { beside: { streams } }) => sum + streams.broken + streams.refused,
    0,
  );
  say(`the gaps' p99 grows by ${more.toFixed(1)} ms (at most ${MOST_MORE_MS}), ${broken} broken`);
  say(`CSV at ${Math.round(csv)} MB a minute (at least ${LEAST_MB_PER_MINUTE})`);
  const isFast = csv >= LEAST_MB_PER_MINUTE || !READERS.includes("csv");
  const isMet = more <= MOST_MORE_MS && broken === 0 && isFast;
  if (values.check === true && !isMet) process.exitCode = 1;
} finally {
  await gateway.stop();
  await upstream.stop();
  await cluster?.remove();
  rmSync(folder, { recursive: true, force: true });
}

async function startServers(databaseUrl: string) {
  const upstreamProgram = { name: "upstream", command: buildTools(), args: ["0"] };
  const listening = /listening 127\.0\.0\.1:(\d+)/;
  const upstream = await startMeasured({ ...upstreamProgram, ready: listening }, folder);
  const env = {
    ...BUN_SETTINGS,
    ...{ BOOTSTRAP_API_KEY: KEY, ADMIN_PASSWORD: PASSWORD, DATABASE_URL: databaseUrl },
    // A database that is kept knows the secret of its first run.
    ...{ APP_SECRET: SECRET, DATA_DIR: folder, HOST: "127.0.0.1", PORT: "0" },
    ...{ LLM_BACKEND: "vllm", LLM_BASE_URL: `http://127.0.0.1:${upstream.port}` },
    ...{ BIKEY_PG_PROXY_ENABLED: "1", BIKEY_PG_PROXY_PORT: "0", METRICS_ENABLED: "1" },
  };
  const ready = /"url":"http:\/\/127\.0\.0\.1:(\d+)".*"msg":"ready"/;
  const args = ["--no-env-file", "src/main.ts"];
  const command = process.versions["bun"] === undefined ? "bun" : process.execPath;
  const gateway = await startMeasured({ name: "gateway", command, args, env, ready }, folder);
  return { upstream, gateway };
}

async function issueReader({ port }: MeasuredProcess): Promise<Reader> {
  const url = `http://127.0.0.1:${port}`;
  const token = await logIn(url, "admin", PASSWORD);
  for (;;) {
    const { body } = await callHttp(url, {
      ...{ method: "POST", path: "/v1/bi-keys", token },
      body: { name: "bench", datasets: ["*"], row_limit: 100_000_000, timeout_seconds: 600 },
    });
    const uri = body.connections?.uri;
    if (uri !== undefined)
      return { url, key: body.key, port: Number(new URL(uri).port), gatewayPort: port };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function loadWatched(port: number): Promise<Watched> {
  const watch = await watchLoopLag(port);
  const streams = await loadStreams({ port, key: KEY }, STREAMS);
  return { streams, lag: await watch.stop() };
}

/** Loads the streams while clients read all the time. */
async function readBeside({ url, key, port, gatewayPort }: Reader): Promise<Beside> {
  const end = new AbortController();
  const clients = await Promise.all(
    Array.from({ length: JOINERS }, async () => {
      const client = new pg.Client({ host: "127.0.0.1", port, user: "bench", password: key });
      client.on("error", () => undefined);
      await client.connect();
      return client;
    }),
  );
  let joins = 0;
  const joining = clients.map(async (client) => {
    while (!end.signal.aborted) {
      await client.query(JOIN).catch(() => end.abort());
      joins += 1;
    }
  });
  let bytes = 0;
  const reading = (async () => {
    const headers = { authorization: `Bearer ${key}` };
    const path = `${url}/v1/data/requests?format=csv`;
    while (READERS.includes("csv") && !end.signal.aborted) {
      const answer = await fetch(path, { headers, signal: end.signal });
      for await (const chunk of answer.body ?? []) bytes += chunk.length;
    }
  })().catch(() => undefined);
  const startedAt = performance.now();
  const watched = await loadWatched(gatewayPort);
  const minutes = (performance.now() - startedAt) / 60_000;
  if (end.signal.aborted) throw new Error("a BI client failed");
  const beside = { ...watched, joins, csvMbPerMinute: bytes / 1e6 / minutes };
  end.abort();
  for (const client of clients) await client.end().catch(() => undefined);
  await Promise.all([...joining, reading]);
  return beside;
}

function medianOf<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  const figures = items.map(figureOf).sort((one, other) => one - other);
  return figures[Math.floor(figures.length / 2)] ?? Number.NaN;
}

function shown({ streams: { gapMs, done, broken }, lag }: Watched): string {
  return `gap p99 ${gapMs.p99.toFixed(1)} ms, max ${gapMs.max.toFixed(1)} ms, ${done} streams, ${broken} broken, event loop late by at most ${lag.atMostMs} ms in ${lag.looks} looks`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
