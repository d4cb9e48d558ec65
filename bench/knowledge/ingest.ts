// Measures the ingestion of 500 files of all formats, and what chats notice of it.
// Usage: bun bench/knowledge/ingest.ts [--quick] [--embedded] [--check] [--dimensions 1024] [--seconds 900]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { BUN_SETTINGS } from "../../scripts/task/bun-settings.mjs";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { startMeasured } from "../load/measured-process.ts";
import { type ChatFigures, watchChats } from "../load/watch-chats.ts";
import { watchChildren } from "../load/watch-children.ts";
import { makeFiles } from "./ingest-files.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    embedded: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    /** Vectors of this length come from an engine that costs nearly nothing; 0: from the simulator, with 256. */
    dimensions: { type: "string", default: "1024" },
    /** The ingestion without chats ends after this time, or with the last file. */
    seconds: { type: "string" },
  },
});
const FILES = options.quick ? { files: 60, bytes: 10e6 } : { files: 500, bytes: 100e6 };
const INGEST_MS = 1_000 * Number(options.seconds ?? (options.quick ? 60 : 900));
const CHATS_MS = options.quick ? 15_000 : 60_000;
const POLL_MS = 250;
const WARM_UP_MS = 2_000;
/** First tokens may take so many times as long while files are ingested. */
const RATIO_MAX = 2;
const RESULTS = "bench/results";
const KEY = "sk-benchmark0123456789abcdefghijklmnopqrstuvwxyz";
const BUN = process.versions["bun"] === undefined ? "bun" : process.execPath;

const folder = mkdtempSync(join(tmpdir(), "ingest-bench-"));
const made = await makeFiles(join(folder, "workspace"), FILES);
const cluster = options.embedded ? undefined : await startPostgresCluster();
const [STORE, CHUNKS_WANTED] =
  cluster === undefined ? (["embedded database", 150] as const) : (["PostgreSQL", 400] as const);
const simulator = await startMeasured(
  {
    name: "simulator",
    command: BUN,
    args: ["simulator/main.ts", "--engine", "vllm"],
    ready: /listening 127\.0\.0\.1:(\d+)/,
  },
  RESULTS,
);
const engine =
  options.dimensions === "0"
    ? { url: `http://127.0.0.1:${simulator.port}`, model: "sim-embed", stop: async () => undefined }
    : await startCanned();
const gateway = await startMeasured(
  {
    name: "gateway",
    command: BUN,
    args: ["--no-env-file", "src/main.ts"],
    env: {
      ...BUN_SETTINGS,
      ...(cluster && { DATABASE_URL: cluster.url }),
      BOOTSTRAP_API_KEY: KEY,
      DATA_DIR: folder,
      HOST: "127.0.0.1",
      PORT: "0",
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: `http://127.0.0.1:${simulator.port}`,
      EMBEDDING_BASE_URL: engine.url,
      EMBEDDING_MODEL: engine.model,
      METRICS_ENABLED: "1",
      RAG_MEMORY_MB: "2048",
    },
    ready: /"url":"http:\/\/127\.0\.0\.1:(\d+)".*"msg":"ready"/,
  },
  RESULTS,
);
const url = `http://127.0.0.1:${gateway.port}`;

interface Part {
  readonly seconds: number;
  readonly chunks: number;
  /** Processor seconds. */
  readonly cpu: Readonly<Record<"gateway" | "simulator", number>>;
  readonly peakMemoryMb: number;
}

interface Run {
  readonly idleMb: number;
  readonly without: ChatFigures;
  readonly during: ChatFigures;
  readonly besideChats: Part;
  readonly alone: Part;
  /** Processor seconds of the processes that read files. */
  readonly readerSeconds: number;
  readonly files: Awaited<ReturnType<typeof readMetrics>>;
}

try {
  await watchChats({ url, key: KEY }, WARM_UP_MS);
  const idleMb = gateway.memoryMb();
  const without = await watchChats({ url, key: KEY }, CHATS_MS);
  const endReaders = watchChildren(gateway.pid, "read-documents");
  await addFolder();
  const { result: during, part: besideChats } = await measure(() =>
    watchChats({ url, key: KEY }, CHATS_MS),
  );
  const { part: alone } = await measure(() => untilEnded(performance.now() + INGEST_MS));
  const readerSeconds = endReaders();
  const files = await readMetrics();
  report({ idleMb, without, during, besideChats, alone, readerSeconds, files });
} finally {
  await gateway.stop();
  await engine.stop();
  await simulator.stop();
  await cluster?.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

/** The simulator takes longer for a vector than the gateway, and its chats would wait meanwhile. */
async function startCanned() {
  const { port, stop } = await startMeasured(
    {
      name: "canned-embeddings",
      command: BUN,
      args: ["bench/knowledge/canned-embeddings.ts"],
      env: { DIMENSIONS: options.dimensions },
      ready: /listening 127\.0\.0\.1:(\d+)/,
    },
    RESULTS,
  );
  return { url: `http://127.0.0.1:${port}`, model: "canned", stop };
}

async function addFolder(): Promise<void> {
  const { id } = await post("/v1/vector_stores", { name: "bench" });
  const ext = { file_connection: "workspace", glob: "**" };
  await post(`/v1/vector_stores/${id}/file_batches`, { ext });
  while ((await readMetrics()).chunks === 0) await sleep(POLL_MS);
}

async function post(path: string, body: object): Promise<{ id: string }> {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string };
}

async function untilEnded(endMs: number): Promise<void> {
  while (performance.now() < endMs && (await readMetrics()).inProgress > 0) await sleep(POLL_MS);
}

async function readMetrics() {
  const text = await (await fetch(`${url}/metrics`)).text();
  const figureOf = (name: string) => Number(text.split(`\n${name} `)[1]?.split("\n")[0] ?? 0);
  return {
    chunks: figureOf("svc_knowledge_chunks_stored_total"),
    inProgress: figureOf('svc_knowledge_files{state="in_progress"}'),
    completed: figureOf('svc_knowledge_files{state="completed"}'),
    failed: figureOf('svc_knowledge_files{state="failed"}'),
  };
}

async function measure<T>(work: () => Promise<T>): Promise<{ result: T; part: Part }> {
  const { chunks } = await readMetrics();
  const startedMs = performance.now();
  const { result: ended, use } = await gateway.watch(() => simulator.watch(work));
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpu = { gateway: use.cpuSeconds, simulator: ended.use.cpuSeconds };
  const stored = (await readMetrics()).chunks - chunks;
  const part = { seconds, chunks: stored, cpu, peakMemoryMb: use.peakMemoryMb };
  return { result: ended.result, part };
}

function report(run: Run): void {
  const { idleMb, without, during, besideChats, alone, readerSeconds, files } = run;
  const all = made.texts.reduce((sum, length) => sum + length, 0);
  // They are read in the order of their names; the one after the last completed file is read by then.
  const read = made.texts.slice(0, files.completed + 1).reduce((sum, length) => sum + length, 0);
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  print(`${FILES.files} files of ${mb(made.bytes)} with ${mb(all)} of text, ${STORE}`);
  print(`${files.completed} files completed, ${files.failed} failed`);
  print(`text parsed: ${(read / 1e6 / readerSeconds).toFixed(2)} MB/s of a core`);
  printPart("ingestion alone", alone);
  printPart("ingestion beside chats", besideChats);
  printChats("chats without ingestion", without);
  printChats("chats during ingestion", during);
  const peakMb = Math.max(besideChats.peakMemoryMb, alone.peakMemoryMb);
  print(`memory of the server: idle ${idleMb.toFixed(0)} MB, at most ${peakMb.toFixed(0)} MB`);
  const perSecond = alone.chunks / alone.seconds;
  const ratio = during.firstTokenMs.p95 / without.firstTokenMs.p95;
  const failures = without.failures + during.failures + files.failed;
  const goals = [
    { goal: `chunks/s at least ${CHUNKS_WANTED}`, isReached: perSecond >= CHUNKS_WANTED },
    {
      goal: `first token p95 below ${RATIO_MAX} times (${ratio.toFixed(2)})`,
      isReached: ratio < RATIO_MAX,
    },
    { goal: "no chat and no file failed", isReached: failures === 0 },
  ];
  for (const { goal, isReached } of goals) print(`  ${isReached ? "reached" : "MISSED "} ${goal}`);
  if (options.check && goals.some(({ isReached }) => !isReached)) process.exitCode = 1;
}

function printPart(name: string, { seconds, chunks, cpu }: Part): void {
  const perChunk = (cpuSeconds: number) => `${((1e6 * cpuSeconds) / chunks).toFixed(0)} µs/chunk`;
  print(
    `${name}: ${chunks} chunks in ${seconds.toFixed(0)} s, ${(chunks / seconds).toFixed(0)}/s; ` +
      `processor: gateway ${perChunk(cpu.gateway)}, simulator ${perChunk(cpu.simulator)}`,
  );
}

function printChats(name: string, { chats, firstTokenMs, longestGapMs }: ChatFigures): void {
  const { p50, p95, max } = firstTokenMs;
  print(
    `${name}: ${chats}; first token p50 ${p50.toFixed(0)}, p95 ${p95.toFixed(0)}, max ${max.toFixed(0)} ms; ` +
      `longest gap of a stream ${longestGapMs.toFixed(0)} ms`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
