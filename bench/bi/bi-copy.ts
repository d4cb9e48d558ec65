// Measures what the copy of the embedded database costs chats: their p99 before, while and after a million requests are
// copied, and how soon a new request is readable. Usage: bun bench/bi/bi-copy.ts [--rows 1000000] [--check]. Needs a C
// compiler and Linux. With --check it fails when the p99 grows by more than 5 ms, a chat is not answered, or a request is
// readable only after more than 60 s.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { loadConfig } from "../../src/config/load-config.ts";
import { DAY_MS, dayOf } from "../../src/db/days/day-table.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openDatabase } from "../../src/db/open-db.ts";
import { createLog } from "../../src/lib/log.ts";
import { callHttp, logIn } from "../../tests/support/clients/http-session.ts";
import { startGateway } from "../comparison/targets.ts";
import { type Address, buildTools, loadRequests, type RequestLoad } from "../load/load-tools.ts";
import { startMeasured } from "../load/measured-process.ts";
import { fillUsage } from "../usage/fill-usage.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, check: { type: "boolean" } },
});
const PASSWORD = "a good password";
const WINDOW = { connections: 32, seconds: 8, ratePerS: 50 } as const;
/** Before the copy, and as many behind it. */
const WINDOWS = 3;
const MOST_MORE_MS = 5;
const FRESH_MS = 60_000;
const LOOK_MS = 250;
const COPY_MS = 30 * 60_000;

const folder = mkdtempSync(join(tmpdir(), "bi-copy-bench-"));
const env = { DATA_DIR: folder, LLM_BACKEND: "vllm", LLM_BASE_URL: "http://127.0.0.1:9" };
try {
  await fill(Number(values.rows));
  const upstream = await startMeasured(
    {
      ...{ name: "upstream", command: buildTools(), args: ["0"] },
      ready: /listening 127\.0\.0\.1:(\d+)/,
    },
    folder,
  );
  const gateway = await startGateway({
    ...{ name: "gateway", dataFolder: folder, logFolder: folder },
    upstreamPort: upstream.port,
    databaseUrl: undefined,
    env: { ADMIN_PASSWORD: PASSWORD },
  });
  try {
    await measure(gateway);
  } finally {
    await gateway.process.stop();
    await upstream.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure({ port, key }: Address): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const load = () => loadRequests({ port, key }, WINDOW);
  const reader = await issueKey(url);
  await load();
  const before = await repeat(WINDOWS, load);
  const startedAt = performance.now();
  let isWhole = false;
  const copied = untilCopied(url, reader)
    .then(() => (performance.now() - startedAt) / 1_000)
    .finally(() => {
      isWhole = true;
    });
  // A failure is thrown once the chats have ended.
  copied.catch(() => undefined);
  const during: RequestLoad[] = [];
  while (!isWhole) during.push(await load());
  const seconds = await copied;
  const after = await repeat(WINDOWS, load);
  const more = p99Of(during) - p99Of([...before, ...after]);
  const isAnswered = [...before, ...during, ...after].every(
    ({ sent, answered }) => sent === answered,
  );
  say(
    `${values.rows} requests copied in ${seconds.toFixed(0)} s beside ${WINDOW.ratePerS} chats/s`,
  );
  say(
    `the chats' p99: ${p99Of(before).toFixed(1)} ms before, ${p99Of(during).toFixed(1)} ms while copying, ${p99Of(after).toFixed(1)} ms after: ` +
      `${more.toFixed(1)} ms more (at most ${MOST_MORE_MS}), ${isAnswered ? "all answered" : "NOT all answered"}`,
  );
  const lateMs = await untilReadable(url, { reader, key });
  say(
    `a new request was readable after ${(lateMs / 1_000).toFixed(1)} s (at most ${FRESH_MS / 1_000})`,
  );
  const isMet = more <= MOST_MORE_MS && isAnswered && lateMs <= FRESH_MS;
  if (values.check === true && !isMet) process.exitCode = 1;
}

async function fill(rows: number): Promise<void> {
  const database = await openDatabase(loadConfig(env).settings, createLog("error"));
  await migrate(database);
  const startedAt = performance.now();
  // Until yesterday: what a chat adds is the newest.
  await fillUsage(database.db, dayOf(Date.now()) - DAY_MS, rows);
  await database.close();
  say(`${rows} requests stored in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
}

async function issueKey(url: string): Promise<string> {
  const token = await logIn(url, "admin", PASSWORD);
  const { body } = await callHttp(url, {
    ...{ method: "POST", path: "/v1/bi-keys", token },
    body: { name: "bench", datasets: ["*"] },
  });
  return body.key;
}

/** Resolves with the newest request's id once the copy is whole; undefined while it is being made. */
async function newestRequest(url: string, reader: string): Promise<string | undefined> {
  const path = `${url}/v1/data/requests?order=-started_at&limit=1`;
  const answer = await fetch(path, { headers: { authorization: `Bearer ${reader}` } });
  const body = (await answer.json()) as { readonly data?: readonly { readonly id: string }[] };
  if (!answer.ok && answer.status !== 503)
    throw new Error(`the data was answered with ${answer.status}`);
  return body.data?.[0]?.id;
}

async function untilCopied(url: string, reader: string): Promise<void> {
  const giveUpAt = performance.now() + COPY_MS;
  while ((await newestRequest(url, reader)) === undefined) {
    if (performance.now() > giveUpAt) throw new Error("the copy was not made in time");
    await sleep(LOOK_MS);
  }
}

/** Makes a request, and returns the milliseconds until the reader finds it. */
async function untilReadable(
  url: string,
  { reader, key }: { readonly reader: string; readonly key: string },
): Promise<number> {
  const known = await newestRequest(url, reader);
  const startedAt = performance.now();
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "bench", messages: [{ role: "user", content: "Say hello." }] }),
  });
  const id = answer.headers.get("x-request-id");
  await answer.arrayBuffer();
  for (;;) {
    const newest = await newestRequest(url, reader);
    const lateMs = performance.now() - startedAt;
    if (newest === id || (id === null && newest !== known) || lateMs > COPY_MS) return lateMs;
    await sleep(LOOK_MS);
  }
}

async function repeat(times: number, load: () => Promise<RequestLoad>): Promise<RequestLoad[]> {
  const loads: RequestLoad[] = [];
  while (loads.length < times) loads.push(await load());
  return loads;
}

/** The median over the windows. */
function p99Of(loads: readonly RequestLoad[]): number {
  const all = loads.map(({ latencyMs }) => latencyMs.p99).sort((one, other) => one - other);
  return all[Math.floor(all.length / 2)] ?? Number.NaN;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
