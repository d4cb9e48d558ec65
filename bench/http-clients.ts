// Compares Bun's `fetch` with the gateway's own socket client against the same server: whole answers, streams, and the
// memory held by readers that stop reading. Each measurement is a separate process; rounds alternate and medians count.
// usage: bun bench/http-clients.ts [--rounds 3] [--seconds 4] [--check]
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { createSocketClient } from "../src/lib/http/bun/socket-client.ts";
import { createFetchClient } from "../src/lib/http/fetch-client.ts";
import type { HttpClient, HttpResponse } from "../src/lib/http/http-client.ts";
import { buildTools } from "./load/load-tools.ts";
import { startMeasured } from "./load/measured-process.ts";

const RESULTS = "bench/results";
const AT_ONCE = 32;
const BURST_TOKENS = 128;
const STALLED_READERS = 100;
const STALLED_TOKENS = 20_000;
/** After this time the kernel's buffers are full, and what a client reads ahead is in its memory. */
const STALL_MS = 3_000;
const MAX_BYTES = 1024 * 1024;

const CLIENTS = { fetch: createFetchClient, socket: createSocketClient };
type ClientName = keyof typeof CLIENTS;

/** The result of one measurement. `perSecond` and `microseconds` (processor time) count answers or streams. */
interface Figures {
  readonly perSecond: number;
  readonly microseconds: number;
  /** Kilobytes held by each reader that has stopped reading. */
  readonly stalledKb: number;
}

const LOADS = { answers: measureAnswers, streams: measureStreams, stalled: measureStalled };
type LoadName = keyof typeof LOADS;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    check: { type: "boolean", default: false },
    // Options of a measuring process: which client does what, on which port.
    measure: { type: "string" },
  },
});
const seconds = Number(options.seconds);

if (options.measure === undefined) await compare();
else {
  const [client, load, port] = options.measure.split(" ") as [ClientName, LoadName, string];
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  console.log(JSON.stringify(await LOADS[load](CLIENTS[client](), url)));
  process.exit(0);
}

async function compare(): Promise<void> {
  const server = await startMeasured(
    { name: "upstream", command: buildTools(), args: ["0"], ready: /listening 127\.0\.0\.1:(\d+)/ },
    RESULTS,
  );
  const found = new Map<string, Partial<Figures>[]>();
  try {
    for (let round = 0; round < Number(options.rounds); round += 1) {
      for (const load of Object.keys(LOADS)) {
        for (const client of Object.keys(CLIENTS)) {
          const key = `${client} ${load}`;
          const figures = await measureApart(`${key} ${server.port}`);
          found.set(key, [...(found.get(key) ?? []), figures]);
        }
      }
    }
  } finally {
    await server.stop();
  }
  const value = (client: ClientName, load: LoadName, figure: keyof Figures) =>
    median((found.get(`${client} ${load}`) ?? []).map((figures) => figures[figure] ?? 0));
  const rows = [
    ["whole answers/s", "answers", "perSecond"],
    ["processor µs/answer", "answers", "microseconds"],
    [`streams/s of ${BURST_TOKENS} tokens`, "streams", "perSecond"],
    ["processor µs/stream", "streams", "microseconds"],
    ["KB held by a stalled reader", "stalled", "stalledKb"],
  ] as const;
  console.log("| | fetch | socket client | socket / fetch |\n|---|---|---|---|");
  for (const [title, load, figure] of rows) {
    const [fetch, socket] = [value("fetch", load, figure), value("socket", load, figure)];
    const ratio = (socket / fetch).toFixed(2);
    console.log(`| ${title} | ${fetch.toFixed(0)} | ${socket.toFixed(0)} | ${ratio} |`);
  }
  // The socket client is worth keeping while it holds less memory than `fetch` and costs no load more.
  const isWorthIt =
    value("socket", "stalled", "stalledKb") < value("fetch", "stalled", "stalledKb") &&
    value("socket", "streams", "microseconds") < value("fetch", "streams", "microseconds");
  if (options.check && !isWorthIt) process.exitCode = 1;
}

async function measureApart(what: string): Promise<Partial<Figures>> {
  const args = ["bench/http-clients.ts", "--measure", what, "--seconds", options.seconds];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  return JSON.parse(stdout) as Partial<Figures>;
}

function measureAnswers(client: HttpClient, url: string): Promise<Partial<Figures>> {
  return measureRate(async () => {
    const response = await send(client, url, { stream: false, tokens: 1 });
    await response.text(MAX_BYTES);
  });
}

function measureStreams(client: HttpClient, url: string): Promise<Partial<Figures>> {
  return measureRate(async () => {
    const response = await send(client, url, { stream: true, tokens: BURST_TOKENS });
    while ((await response.next()).done !== true);
  });
}

/** Runs the work in this many concurrent loops; the first second is not counted. */
async function measureRate(work: () => Promise<void>): Promise<Partial<Figures>> {
  let count = 0;
  let isOver = false;
  const places = Array.from({ length: AT_ONCE }, async () => {
    while (!isOver) {
      await work();
      count += 1;
    }
  });
  await sleep(1_000);
  const [countBefore, cpuBefore, began] = [count, process.cpuUsage(), performance.now()];
  await sleep(seconds * 1_000);
  const { user, system } = process.cpuUsage(cpuBefore);
  const [done, elapsedMs] = [count - countBefore, performance.now() - began];
  isOver = true;
  await Promise.all(places);
  return { perSecond: (done / elapsedMs) * 1_000, microseconds: (user + system) / done };
}

async function measureStalled(client: HttpClient, url: string): Promise<Partial<Figures>> {
  await (await send(client, url, { stream: false, tokens: 1 })).text(MAX_BYTES);
  const before = process.memoryUsage.rss();
  const open = await Promise.all(
    Array.from({ length: STALLED_READERS }, async () => {
      const response = await send(client, url, { stream: true, tokens: STALLED_TOKENS });
      await response.next();
      return response;
    }),
  );
  await sleep(STALL_MS);
  const held = process.memoryUsage.rss() - before;
  for (const response of open) response.cancel();
  return { stalledKb: held / 1_024 / STALLED_READERS };
}

function send(
  client: HttpClient,
  url: string,
  { stream, tokens }: { readonly stream: boolean; readonly tokens: number },
): Promise<HttpResponse> {
  const body = JSON.stringify({
    model: "bench",
    messages: [{ role: "user", content: `@@${tokens},0` }],
    stream,
  });
  const headers = { "content-type": "application/json" };
  return client.send({ url, method: "POST", headers, body, signal: new AbortController().signal });
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
