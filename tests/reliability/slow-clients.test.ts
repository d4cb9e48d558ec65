import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { CHAT_PATH, callGateway, chatBody } from "../support/call-gateway.ts";
import { createCaseTable, noteLaterRoutes } from "../support/case-table.ts";
import {
  expectCleanOutput,
  expectUnhurt,
  type Stage,
  startStage,
} from "../support/engine-stage.ts";
import { openRawClient, type RawResponse, rawRequest } from "../support/raw-client.ts";
import { startGateway, TEST_KEY } from "../support/start-gateway.ts";

const MODEL = "slow";
const HONEST_MODEL = "honest";
const HEADER_CLIENTS = 300;
const BODY_CLIENTS = 200;
/** The plan says 15 and 35 seconds; a machine that does much else may be late. */
const HEADERS_CLOSED_MS = 25_000;
const BODIES_CLOSED_MS = 50_000;
const GOOD_P99_MS = 1_000;
const DESCRIPTOR_SLACK = 10;
/** Long enough for an honest body to outlast every limit of a body that does not come. */
const HONEST_MS = 45_000;
const SOON = { timeout: 20_000 };
const JSON_HEADERS = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const HEADS = {
  "a header at a time": ["GET /api/health HTTP/1.1\r\nHost: a\r\n", "X-More: y\r\n"],
  "a byte at a time": ["GET /api/health HTTP/1.1\r\nHost: a\r\nX-Long: ", "y"],
  "nothing at all": ["", ""],
} as const;

const table = createCaseTable();
const { shows, leavesOut } = table;
noteLaterRoutes(table, ["H02"]);

let stage: Stage;
let port: number;
/** They take long, so they run beside the others. */
let reused: Promise<number>;
let honest: Promise<RawResponse>;

beforeAll(async () => {
  stage = await startStage({ engine: "vllm", models: [MODEL, HONEST_MODEL] });
  port = stage.gateway.port;
  expect((await callGateway(port, { body: chatBody(MODEL) })).status).toBe(200);
  reused = reuseSlowly();
  honest = sendHonestly();
});
afterAll(() => stage?.finish());

/** One of many clients that send a piece of their request now and then. */
interface SlowClient {
  readonly received: () => string;
  /** Resolves with the milliseconds from its start until the server had closed it. */
  readonly closed: Promise<number>;
}

function startSlowClient(head: string, piece: string, everyMs: number, to = port): SlowClient {
  const socket: Socket = connect({ port: to, host: "127.0.0.1" });
  const startedAt = performance.now();
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), everyMs);
  const closed = new Promise<number>((resolve) => {
    socket.on("close", () => {
      clearInterval(timer);
      resolve(performance.now() - startedAt);
    });
  });
  return { received: () => received, closed };
}

/** The times they were closed after, the slowest last. */
async function closedWithin(
  clients: readonly SlowClient[],
  limitMs: number,
): Promise<readonly number[]> {
  const late = sleep(limitMs, "late" as const, { ref: false });
  const times = await Promise.race([Promise.all(clients.map(({ closed }) => closed)), late]);
  if (times === "late") throw new Error(`not all were closed within ${limitMs} ms`);
  return [...times].sort((one, other) => one - other);
}

function openDescriptors(): number {
  return readdirSync(`/proc/${stage.gateway.pid}/fd`).length;
}

async function expectDescriptorsBack(baseline: number): Promise<void> {
  await expect
    .poll(openDescriptors, { timeout: 15_000 })
    .toBeLessThanOrEqual(baseline + DESCRIPTOR_SLACK);
}

function chatCalls(): number {
  return stage.simulator.ledger().filter(({ model }) => model === MODEL).length;
}

/** Sends calls one after the other as long as the work goes on; tells the slowest but one in a hundred. */
async function p99WhileGoodClientsCall(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  const times: number[] = [];
  while (!isOver) {
    const startedAt = performance.now();
    const health = await callGateway(port, { method: "GET", path: "/api/health" });
    expect(health.status).toBe(200);
    times.push(performance.now() - startedAt);
    await sleep(20);
  }
  times.sort((one, other) => one - other);
  return times[Math.floor(times.length * 0.99)] ?? 0;
}

function report(id: string, figures: object): void {
  // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
  console.info(`${id} ${JSON.stringify(figures)}`);
}

describe("clients that send their headers slowly", () => {
  shows("H01", "all routes", "are all closed, and good ones notice nothing", async () => {
    const baseline = openDescriptors();
    const each = HEADER_CLIENTS / Object.keys(HEADS).length;
    const clients = Object.values(HEADS).flatMap(([head, piece]) =>
      Array.from({ length: each }, () => startSlowClient(head, piece, 3_000)),
    );
    const closing = closedWithin(clients, HEADERS_CLOSED_MS);
    const p99Ms = await p99WhileGoodClientsCall(closing);
    const times = await closing;
    report("H01", { slowestMs: times.at(-1), p99Ms, clients: clients.length });
    expect(p99Ms).toBeLessThan(GOOD_P99_MS);
    for (const client of clients) expect(client.received()).toMatch(/^$|^HTTP\/1\.1 408 /);
    await expectDescriptorsBack(baseline);
  });

  shows("H01", "all routes, after a good request", "are closed too", async () => {
    expect(await reused).toBeLessThan(BODIES_CLOSED_MS);
  });
});

describe("clients that send their bodies slowly", () => {
  const json = JSON_HEADERS;
  const form = { ...json, "content-type": "multipart/form-data; boundary=b" };
  const audio = "/v1/audio/transcriptions";
  const kinds = {
    "chat, short": [rawRequest("POST", CHAT_PATH, { ...json, "content-length": "100" }), "{", 408],
    "chat, long": [
      rawRequest("POST", CHAT_PATH, { ...json, "content-length": "1000000" }),
      "{",
      408,
    ],
    "chat, chunked": [
      rawRequest("POST", CHAT_PATH, { ...json, "transfer-encoding": "chunked" }),
      "1\r\n{\r\n",
      408,
    ],
    "messages, long": [
      rawRequest("POST", "/v1/messages", { ...json, "content-length": "1000000" }),
      "{",
      408,
    ],
    "embeddings, long": [
      rawRequest("POST", "/v1/embeddings", { ...json, "content-length": "1000000" }),
      "{",
      408,
    ],
    audio: [rawRequest("POST", audio, { ...form, "content-length": "1000000" }), "-", 408],
    login: [
      rawRequest("POST", "/api/auth/login", { ...json, "content-length": "60000" }),
      "{",
      408,
    ],
    "without a key": [
      rawRequest("POST", CHAT_PATH, {
        "content-type": "application/json",
        "content-length": "60000",
      }),
      "{",
      401,
    ],
    "to no path": [
      rawRequest("POST", "/v1/none", { ...json, "content-length": "60000" }),
      "{",
      404,
    ],
  } as const;

  shows(
    "H02",
    Object.keys(kinds).join(", "),
    "are told so, closed, and never called for",
    async () => {
      const baseline = openDescriptors();
      const before = chatCalls();
      const each = Math.ceil(BODY_CLIENTS / Object.keys(kinds).length);
      const clients = Object.entries(kinds).flatMap(([name, [head, piece, status]]) =>
        Array.from({ length: each }, () => ({
          name,
          status,
          client: startSlowClient(head, piece, 1_000),
        })),
      );
      const closing = closedWithin(
        clients.map(({ client }) => client),
        BODIES_CLOSED_MS,
      );
      const p99Ms = await p99WhileGoodClientsCall(closing);
      const slowest: Record<string, number> = {};
      for (const { name, client } of clients)
        slowest[name] = Math.max(slowest[name] ?? 0, Math.round(await client.closed));
      report("H02", { slowest, p99Ms, clients: clients.length });
      for (const { name, status, client } of clients)
        expect([name, client.received().slice(0, 12)]).toEqual([name, `HTTP/1.1 ${status}`]);
      expect(p99Ms).toBeLessThan(GOOD_P99_MS);
      expect(chatCalls()).toBe(before);
      await expectDescriptorsBack(baseline);
    },
  );

  shows("H02", "chat, slow but honest", "are answered when their body is there", async () => {
    expect((await honest).status).toBe(200);
  });
});

describe("more clients than there are descriptors", () => {
  shows("H01", "all routes, 500 descriptors", "are turned away until there are more", async () => {
    const few = await startGateway({ LLM_BACKEND: "vllm", LLM_BASE_URL: stage.simulator.url }, [
      "sh",
      "-c",
      'ulimit -n 500; exec "$0" "$@"',
    ]);
    // They say something: of one that is silent its system may not find out that it was never let in.
    const [head, piece] = HEADS["a header at a time"];
    const clients = Array.from({ length: 700 }, () =>
      startSlowClient(head, piece, 3_000, few.port),
    );
    await expect.poll(() => few.output(), SOON).toContain("new connections are turned away");
    // Some come only when their system tries again.
    await closedWithin(clients, 2 * BODIES_CLOSED_MS);
    await expect.poll(() => few.output(), SOON).toContain("new connections are taken again");
    const answers = async () => (await callGateway(few.port, { body: chatBody(MODEL) })).status;
    await expect.poll(() => answers().catch(() => 0), SOON).toBe(200);
    await expectUnhurt(few);
    await few.stop();
    expectCleanOutput(few);
  });
});

/** A request after another on its connection, of which header after header comes; the milliseconds until it is closed. */
async function reuseSlowly(): Promise<number> {
  const client = await openRawClient(port);
  client.send(rawRequest("GET", "/api/health", {}));
  expect((await client.readResponse()).status).toBe(200);
  const startedAt = performance.now();
  client.send("GET /api/health HTTP/1.1\r\nHost: a\r\n");
  const timer = setInterval(() => client.send("X-More: y\r\n"), 3_000);
  await Promise.race([client.closed, sleep(2 * BODIES_CLOSED_MS, undefined, { ref: false })]);
  clearInterval(timer);
  return performance.now() - startedAt;
}

/** Four thousand bytes a second, for longer than any limit of a connection without a call. */
async function sendHonestly(): Promise<RawResponse> {
  const user = "x".repeat((HONEST_MS / 1_000) * 4_000);
  const body = JSON.stringify({ ...chatBody(HONEST_MODEL), user });
  const headers = { ...JSON_HEADERS, "content-length": String(body.length) };
  const client = await openRawClient(port);
  client.send(rawRequest("POST", CHAT_PATH, headers));
  const size = Math.ceil(body.length / (HONEST_MS / 500));
  for (let sent = 0; sent < body.length; sent += size) {
    client.send(body.slice(sent, sent + size));
    await sleep(500);
  }
  const response = await client.readResponse({ method: "POST" });
  client.close();
  return response;
}

leavesOut("H01", "9,000 clients", "left out: bench");
