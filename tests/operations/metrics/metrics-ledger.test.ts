import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { CHANNELS } from "../../../src/core/channel.ts";
import { OUTCOMES } from "../../../src/usage/usage-record.ts";
import { callGateway, chatBody, openCall } from "../../support/clients/call-gateway.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { type Scrape, scrapeMetrics, sumOf } from "../../support/clients/scrape-metrics.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readUsageRows, type StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const MODEL = "sim-chat";
const PASSWORD = "the password of this test";
const SOON = { timeout: 60_000, interval: 100 };

let dataDir: string;
let simulator: TestSimulator;
let store: Awaited<ReturnType<typeof createMigratedDatabase>> | undefined;
let gateway: TestGateway;
let settings: { readonly DATA_DIR: string; readonly DATABASE_URL?: string };

const start = () =>
  startGateway({
    ...settings,
    METRICS_ENABLED: "1",
    ADMIN_PASSWORD: PASSWORD,
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    EMBEDDING_MODEL: "sim-embed",
    GATEWAY_RETRIES: "1",
  });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "metrics-ledger-"));
  store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  settings = { DATA_DIR: dataDir, ...(store !== undefined && { DATABASE_URL: store.url }) };
  simulator = await startSimulator({ engine: "vllm" });
  gateway = await start();
});
afterAll(async () => {
  await gateway?.stop();
  await simulator?.stop();
  await store?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const post = async (path: string, body: unknown, key = TEST_KEY) => {
  const response = await callGateway(gateway.port, {
    path,
    body,
    headers: { authorization: `Bearer ${key}` },
  });
  return response.status;
};
const messages = [{ role: "user", content: "Tell me something." }];
const chat = (more: object = {}, key?: string) =>
  post("/v1/chat/completions", chatBody(MODEL, { ...more }), key);
const say = (more: object = {}, key?: string) =>
  post("/v1/messages", { model: MODEL, max_tokens: 50, messages, ...more }, key);
const respond = (more: object = {}) =>
  post("/v1/responses", { model: MODEL, input: "Tell me something.", ...more });
const embed = (input: string) => post("/v1/embeddings", { model: "sim-embed", input });

/** Begins a stream that never ends by itself, and leaves it once something came. */
async function abortStream(path: string, body: object, marker: string): Promise<void> {
  simulator.script({ match: { body: marker }, text: "word ", repeat: 50, stall: { at: 10 } });
  const client = await openCall(gateway.port, { path, body: { ...body, stream: true } });
  await client.readUntil((bytes) => bytes.includes("word"));
  const open = await scrapeMetrics(gateway);
  expect(open.get("svc_gateway_open_calls")).toBe(1);
  expect(open.get("svc_gateway_open_streams")).toBe(1);
  client.reset();
}

/** Leaves while the engine has said nothing yet. */
async function leaveBeforeAnswer(): Promise<void> {
  simulator.script({ match: { body: "leaves-early" }, stall: { at: "headers" } });
  const body = chatBody(MODEL, { user: "leaves-early" });
  const client = await openCall(gateway.port, { body });
  await simulator.awaitEntry((entry) => JSON.stringify(entry).includes("leaves-early"));
  client.reset();
}

/** What the console does: such a call has no row. */
async function chatInSession(): Promise<void> {
  const login = await fetch(`${gateway.url}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "admin", password: PASSWORD }),
  });
  const { token } = (await login.json()) as { token: string };
  expect(await chat({}, token)).toBe(200);
}

async function mixedTraffic(): Promise<void> {
  for (let index = 0; index < 4; index += 1) {
    expect(await chat()).toBe(200);
    expect(await chat({ stream: true })).toBe(200);
    expect(await say({ stream: index % 2 === 0 })).toBe(200);
    expect(await respond({ stream: index % 2 === 1 })).toBe(200);
    expect(await embed(`text number ${index}`)).toBe(200);
  }
  // The engine fails, and once it is only busy for a moment.
  simulator.script({ match: { body: "fails" }, times: 2, respond: { status: 500, body: {} } });
  expect(await chat({ user: "fails" })).toBe(502);
  expect(await respond({ user: "fails", stream: true })).toBe(502);
  simulator.script({ match: { body: "busy" }, respond: { status: 503, body: {} } });
  expect(await chat({ user: "busy" })).toBe(200);
  // The engine's own 429: it asks for a wait that is longer than ours.
  const tooMany = { status: 429, headers: { "retry-after": "30" }, body: {} };
  simulator.script({ match: { body: "too-many" }, times: 3, respond: tooMany });
  expect(await chat({ user: "too-many" })).toBe(429);
  expect(await chat({ user: "too-many", stream: true })).toBe(429);
  expect(await say({ messages: [{ role: "user", content: "too-many" }] })).toBe(429);
  // A stream that breaks off after its first words.
  simulator.script({
    match: { body: "breaks" },
    text: "a b c d e f",
    cut: { at: 3, how: "reset" },
  });
  expect(await chat({ user: "breaks", stream: true })).toBe(200);
  // Clients that leave.
  await abortStream("/v1/chat/completions", chatBody(MODEL, { user: "leaves-1" }), "leaves-1");
  await abortStream("/v1/responses", { model: MODEL, input: "leaves-2" }, "leaves-2");
  await leaveBeforeAnswer();
  // Our own 429, and what is no call at all.
  const used = await issueKey(gateway, { request_limit: 0 });
  for (let index = 0; index < 3; index += 1) expect(await chat({}, used.key)).toBe(429);
  expect(await say({}, used.key)).toBe(429);
  expect(await chat({}, "sk-nobody-knows-this-key-0123456789")).toBe(401);
  expect(await post("/v1/chat/completions", "no json")).toBe(400);
  await chatInSession();
}

/** Once the database has everything that this traffic brings. */
async function settled(rows: number): Promise<Scrape> {
  return vi.waitFor(async () => {
    const scrape = await scrapeMetrics(gateway);
    expect([
      scrape.get("svc_journal_unflushed_records"),
      sumOf(scrape, "svc_gateway_requests_24h"),
      sumOf(scrape, "svc_gateway_calls_total"),
    ]).toEqual([0, rows + 4, rows]);
    return scrape;
  }, SOON);
}

const REFUSED = { chat: 3, messages: 1 } as Readonly<Record<string, number>>;
const count = (rows: readonly StoredUsage[], channel: string, outcome?: string) =>
  rows.filter((row) => row.channel === channel && (outcome ?? row.outcome) === row.outcome).length;
const total = (rows: readonly StoredUsage[], figure: "inputTokens" | "outputTokens") =>
  rows.reduce((sum, row) => sum + row[figure], 0);

/** What the rows say, under the names of the 24 hours' figures. */
function dayOf(rows: readonly StoredUsage[]): Readonly<Record<string, number>> {
  const figures = CHANNELS.flatMap((channel) => {
    const own = rows.filter((row) => row.channel === channel);
    const refused = REFUSED[channel] ?? 0;
    return [
      [`svc_gateway_requests_24h{channel="${channel}"}`, own.length + refused],
      [`svc_gateway_errors_24h{channel="${channel}"}`, count(rows, channel, "error")],
      [
        `svc_gateway_rate_limited_24h{channel="${channel}"}`,
        count(rows, channel, "rate_limited") + refused,
      ],
      [`svc_gateway_input_tokens_24h{channel="${channel}"}`, total(own, "inputTokens")],
      [`svc_gateway_output_tokens_24h{channel="${channel}"}`, total(own, "outputTokens")],
    ] as const;
  });
  return Object.fromEntries(figures);
}

/** The same lines as they were scraped. */
const scraped = (scrape: Scrape, names: object) =>
  Object.fromEntries(Object.keys(names).map((line) => [line, scrape.get(line)]));

describe("figures after mixed traffic", () => {
  // 4 × 5 that go well, 2 that fail, 1 after a second try, 3 that the engine refuses, 1 that breaks off, 3 left.
  const ROWS = 30;
  let before: Scrape;
  let after: Scrape;
  let rows: readonly StoredUsage[];

  beforeAll(async () => {
    await mixedTraffic();
    before = await settled(ROWS);
    await gateway.stop();
    rows = await readUsageRows(settings);
    gateway = await start();
    after = await scrapeMetrics(gateway);
  }, 240_000);

  it("of the last 24 hours are the ledger's", () => {
    expect(rows).toHaveLength(ROWS);
    const day = dayOf(rows);
    expect(scraped(before, day)).toEqual(day);
  });

  it("of the last 24 hours are the same after a restart", () => {
    const day = dayOf(rows);
    expect(scraped(after, day)).toEqual(day);
    for (const line of ['{quantile="0.5"}', '{quantile="0.99"}', "_sum", "_count"]) {
      const name = `svc_gateway_latency_ms_24h${line}`;
      expect([name, after.get(name)]).toEqual([name, before.get(name)]);
    }
  });

  it("of latencies are those of the rows", () => {
    const latencies = rows.map(({ latencyMs }) => latencyMs).sort((one, other) => one - other);
    const sum = latencies.reduce((one, other) => one + other, 0);
    expect(before.get("svc_gateway_latency_ms_24h_count")).toBe(ROWS);
    expect(before.get("svc_gateway_latency_ms_24h_sum")).toBe(sum);
    const median = latencies[Math.ceil(ROWS / 2) - 1] ?? 0;
    const told = before.get('svc_gateway_latency_ms_24h{quantile="0.5"}') ?? 0;
    expect(Math.abs(told - median)).toBeLessThanOrEqual(0.02 * median + 0.5);
  });

  it("of this process are the ledger's by channel and outcome, and begin at 0 again", () => {
    for (const channel of CHANNELS) {
      const own = rows.filter((row) => row.channel === channel);
      for (const outcome of OUTCOMES) {
        const line = `svc_gateway_calls_total{channel="${channel}",outcome="${outcome}"}`;
        expect([line, before.get(line)]).toEqual([line, count(rows, channel, outcome)]);
        expect([line, after.get(line)]).toEqual([line, 0]);
      }
      const label = `{channel="${channel}"}`;
      expect(before.get(`svc_gateway_input_tokens_total${label}`)).toBe(total(own, "inputTokens"));
      expect(before.get(`svc_gateway_output_tokens_total${label}`)).toBe(
        total(own, "outputTokens"),
      );
      expect(before.get(`svc_gateway_call_duration_seconds_count${label}`)).toBe(own.length);
      expect(before.get(`svc_gateway_call_duration_seconds_sum${label}`)).toBeCloseTo(
        own.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / 1_000,
        6,
      );
      expect(before.get(`svc_gateway_first_token_seconds_count${label}`)).toBe(
        own.filter(({ firstTokenMs }) => firstTokenMs !== null).length,
      );
    }
  });

  it("of HTTP requests are what clients saw", () => {
    const answers = (kind: string, status: string) =>
      before.get(`svc_http_requests_total{kind="${kind}",status_class="${status}"}`);
    // 8 and 1 after a second try, 1 that broke off, 1 left, 1 of the console.
    expect(answers("chat", "2xx")).toBe(12);
    // 2 of the engine's 429, 3 of ours, an unknown key and no JSON.
    expect(answers("chat", "4xx")).toBe(7);
    expect(answers("chat", "5xx")).toBe(1);
    expect(answers("messages", "2xx")).toBe(4);
    expect(answers("messages", "4xx")).toBe(2);
    expect(answers("responses", "2xx")).toBe(5);
    expect(answers("responses", "5xx")).toBe(1);
    expect(answers("embeddings", "2xx")).toBe(4);
    expect(answers("chat", "aborted")).toBe(1);
    expect(sumOf(before, "svc_http_requests_total", 'status_class="aborted"')).toBe(1);
  });

  it("of calls to the engine tell how each ended, without the questions on the side", () => {
    const outcome = (name: string) =>
      before.get(`svc_upstream_calls_total{backend="vllm",outcome="${name}"}`);
    // All that went well and the console's.
    expect(outcome("ok")).toBe(22);
    expect(outcome("5xx")).toBe(2);
    expect(outcome("429")).toBe(3);
    expect(outcome("broken")).toBe(1);
    expect(outcome("aborted")).toBe(3);
    expect(sumOf(before, "svc_upstream_calls_total")).toBe(31);
    expect(before.get('svc_upstream_retries_total{backend="vllm"}')).toBe(1);
    expect(before.get("svc_llm_backend_up")).toBe(1);
    expect(before.get('svc_upstream_up{backend="vllm"}')).toBe(1);
  });

  it("of refusals and keys are there, and nothing is held any more", () => {
    expect(before.get('svc_limit_refusals_total{code="request_limit_exceeded"}')).toBe(4);
    expect(sumOf(before, "svc_limit_refusals_total")).toBe(4);
    expect(before.get("svc_limit_reservations_open")).toBe(0);
    expect(before.get("svc_limits_available")).toBe(1);
    expect(before.get("svc_gateway_open_calls")).toBe(0);
    expect(before.get("svc_gateway_open_streams")).toBe(0);
    expect(before.get('svc_api_keys{state="active"}')).toBe(2);
    expect(before.get("svc_database_up")).toBe(1);
  });

  it("say when the engine is gone", async () => {
    await simulator.stop();
    await expect
      .poll(async () => (await scrapeMetrics(gateway)).get("svc_llm_backend_up"), SOON)
      .toBe(0);
    expect(await chat()).toBe(502);
    const scrape = await scrapeMetrics(gateway);
    expect(scrape.get('svc_upstream_up{backend="vllm"}')).toBe(0);
    expect(scrape.get('svc_upstream_calls_total{backend="vllm",outcome="refused"}')).toBe(1);
    expect(scrape.get('svc_gateway_calls_total{channel="chat",outcome="error"}')).toBe(1);
  });
});
