import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type App, createApp } from "../../src/app.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { type CallGate, openCallGate } from "../../src/gateway/overload/call-gate.ts";
import { serve } from "../../src/http/server/serve.ts";
import type { Server } from "../../src/http/server/server.ts";
import { createLog } from "../../src/lib/log.ts";
import { FORM_TYPE } from "../support/clients/audio-form.ts";
import { callGateway, chatBody, openCall } from "../support/clients/call-gateway.ts";
import { issueKey, readLimitUse } from "../support/clients/issue-key.ts";
import { openRawClient, type RawResponse, rawRequest } from "../support/clients/raw-client.ts";
import { TEST_KEY } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../support/stages/served-deps.ts";

const MB = 1024 * 1024;
const MODEL = "busy";
const MODEL_CALLS = [
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/audio/transcriptions",
  "/v1/vector_stores/vs_1/search",
];
/** The same as the console calls them. */
const SESSION_CALLS = MODEL_CALLS.map((path) => `/api${path}`);

let simulator: TestSimulator;
let served: ServedDeps;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({
    models: [{ name: MODEL, contextLength: 2 ** 24, capabilities: ["completion"] }],
  });
  served = await serveDeps(undefined, {
    BODIES_IN_HAND_MB: "2",
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    METRICS_ENABLED: "1",
  });
  port = Number(new URL(served.url).port);
});
afterAll(async () => {
  await served.close();
  await simulator.stop();
});

function expectOverloaded(response: RawResponse, path = "/v1/chat/completions"): void {
  expect(response.status).toBe(503);
  expect(Number(response.header("retry-after"))).toBeGreaterThan(0);
  expect(response.header("x-request-id")).toMatch(/^req_/);
  const error = {
    type: "overloaded_error",
    message: expect.stringMatching(/send the request again/),
  };
  expect(response.json()).toMatchObject(
    /^(\/api)?\/v1\/messages/.test(path)
      ? { type: "error", error }
      : { error: { ...error, code: "overloaded" } },
  );
}

/** A call that has announced a body and sends no more of it than this. */
async function openUnfinished(bytes: number, sent = "") {
  const client = await openRawClient(port);
  const headers = {
    authorization: `Bearer ${TEST_KEY}`,
    "content-type": "application/json",
    "content-length": String(bytes),
  };
  client.send(rawRequest("POST", "/v1/chat/completions", headers));
  client.send(sent);
  return client;
}

async function untilCalls(count: number): Promise<void> {
  await expect.poll(() => served.deps.openCalls.count(), { timeout: 10_000 }).toBe(count);
}

const large = () => chatBody(MODEL, { metadata: { filler: "x".repeat(1.4 * MB) } });

describe("Bodies in hand", () => {
  it.each(MODEL_CALLS.slice(0, 5))("are refused where they have no room: %s", async (path) => {
    const first = await openUnfinished(1_700_000);
    await untilCalls(1);
    const headers = { "content-length": "1200000" };
    expectOverloaded(await callGateway(port, { path, headers }), path);
    // One of unknown length is refused when it has become too long.
    const chunked = { "transfer-encoding": "chunked", "content-length": undefined };
    const piece = `${MB.toString(16)}\r\n${" ".repeat(MB)}\r\n`;
    const growing = await openCall(port, { path, headers: chunked, body: piece });
    expectOverloaded(await growing.readResponse({ method: "POST" }), path);
    growing.close();
    const small = await callGateway(port, { body: chatBody(MODEL) });
    expect(small.status).toBe(200);
    first.close();
    await untilCalls(0);
  });

  it("have room again after a client has left, whatever it had sent", async () => {
    for (const sent of ["", '{"model":']) {
      const client = await openUnfinished(1_700_000, sent);
      await untilCalls(1);
      client.reset();
      await untilCalls(0);
      expect((await callGateway(port, { body: large() })).status).toBe(200);
    }
  });

  it("have room again after an answer, a refusal of the engine and a body that is no JSON", async () => {
    for (let round = 0; round < 2; round += 1) {
      expect((await callGateway(port, { body: large() })).status).toBe(200);
      const broken = await callGateway(port, { body: `{${"x".repeat(1.4 * MB)}` });
      expect(broken.status).toBe(400);
      simulator.script({ respond: { status: 400, body: "{}" } });
      expect((await callGateway(port, { body: large() })).status).toBe(400);
    }
  });

  it("are let go of when the engine has them: a stream's length does not matter", async () => {
    simulator.script({ match: { body: '"stream":true' }, stall: { at: 2 } });
    const stream = await openCall(port, { body: { ...large(), stream: true } });
    await stream.readUntil((text) => text.includes("data: "));
    expect((await callGateway(port, { body: large() })).status).toBe(200);
    expect(served.deps.openCalls.streams()).toBe(1);
    stream.close();
    await untilCalls(0);
  });
});

describe("A key that is used up", () => {
  it("counts tokens only within its requests a minute, and against no other limit", async () => {
    const key = await issueKey(served, { rpm_limit: 2, request_limit: 9, token_limit: 9_000 });
    const headers = { authorization: `Bearer ${key.key}` };
    const counting = { path: "/v1/messages/count_tokens", headers, body: chatBody(MODEL) };
    const statuses: number[] = [];
    for (let calls = 0; calls < 3; calls += 1)
      statuses.push((await callGateway(port, counting)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const left = async (limit: Parameters<typeof readLimitUse>[2]) =>
      (await readLimitUse(served, key, limit)).remaining;
    expect([
      await left("requests_per_minute"),
      await left("requests"),
      await left("tokens"),
    ]).toEqual([0, 9, 9_000]);
  });

  it("is refused before the body is sent, on every path that calls a model", async () => {
    const zero = await issueKey(served, { token_limit: 0 });
    const used = await issueKey(served, { request_limit: 1 });
    const first = { headers: { authorization: `Bearer ${used.key}` }, body: chatBody(MODEL) };
    expect((await callGateway(port, first)).status).toBe(200);
    for (const path of MODEL_CALLS) {
      const type = path.includes("audio") ? FORM_TYPE["content-type"] : "application/json";
      const announced = { "content-length": String(20 * MB), "content-type": type };
      for (const { key } of [zero, used]) {
        const headers = { ...announced, authorization: `Bearer ${key}` };
        const refused = await callGateway(port, { path, headers });
        expect([path, refused.status, refused.header("connection")]).toEqual([path, 429, "close"]);
      }
    }
  });
});

describe("A server that has as many calls as it carries", () => {
  let busy: Server;
  let isBusy = true;

  beforeAll(async () => {
    const { deps } = served;
    const callGate = openCallGate({
      openCalls: { count: () => 1 },
      log: createLog("silent"),
      readings: {
        watchLoop: () => () => undefined,
        memoryShare: () => (isBusy ? 0.9 : 0),
        now: () => performance.now(),
        freeMemory: () => undefined,
      },
    });
    const { fetch } = createApp({ ...deps, callGate });
    busy = await serve({ host: "127.0.0.1", port: 0, quietSeconds: 30, fetch });
  });
  afterAll(async () => {
    isBusy = false;
    busy.close();
    await busy.stop();
  });

  it.each([...MODEL_CALLS, ...SESSION_CALLS])("refuses %s in its family's form", async (path) => {
    const { port: at } = busy;
    expectOverloaded(await callGateway(at, { path, body: chatBody(MODEL) }), path);
    // Also before a long body is sent.
    const headers = { "content-length": String(20 * MB) };
    const refused = await callGateway(at, { path, headers });
    expectOverloaded(refused, path);
    expect(refused.header("connection")).toBe("close");
  });

  it("refuses nothing that watches or manages it", async () => {
    const { port: at } = busy;
    for (const path of ["/api/health", "/api/ready", "/v1/health", "/metrics", "/v1/models"])
      expect((await callGateway(at, { method: "GET", path })).status).toBe(200);
    const body = { username: "admin", password: ADMIN_PASSWORD };
    expect((await callGateway(at, { path: "/api/auth/login", body })).status).toBe(200);
    const keys = { path: "/v1/api-keys", body: { name: "of a busy server" } };
    expect((await callGateway(at, keys)).status).toBe(201);
  });

  it("knows every route that calls a model", () => {
    const { routes } = createApp(served.deps);
    const called = routes.filter(({ modelCall }) => modelCall === true);
    const paths = called.map(({ path }) => path.replace("{id}", "vs_1"));
    expect(paths.sort()).toEqual([...MODEL_CALLS, ...SESSION_CALLS].sort());
    const posted = routes.filter(
      ({ method, path }) => method === "post" && path.startsWith("/v1/"),
    );
    const others = posted.filter(({ modelCall }) => modelCall !== true).map(({ path }) => path);
    const managed = /^\/v1\/(api-keys|assistants|bi-keys|data|files|vector_stores)/;
    expect(others.filter((path) => !managed.test(path))).toEqual([]);
  });
});

describe("A server in which calls wait for others to begin", () => {
  let ordered: Server;
  let underWay: App["underWay"];
  let logged = "";
  /** Gives a call its turn, once it waits. */
  let begin: ((refusal?: ServiceError) => void) | undefined;

  beforeAll(async () => {
    const { deps } = served;
    const callGate: CallGate = {
      ...deps.callGate,
      start: () => new Promise((resolve) => (begin = resolve)),
    };
    const log = createLog("info", { write: (text) => (logged += text) });
    const app = createApp({ ...deps, log, callGate });
    ({ underWay } = app);
    ordered = await serve({ host: "127.0.0.1", port: 0, quietSeconds: 30, fetch: app.fetch });
  });
  afterAll(async () => {
    ordered.close();
    await ordered.stop();
  });
  beforeEach(() => {
    begin = undefined;
    logged = "";
  });

  const untilWaiting = () => expect.poll(() => begin).toBeDefined();

  it("answers everything else meanwhile, and the call in its turn", async () => {
    const { port: at } = ordered;
    const answering = callGateway(at, { body: chatBody(MODEL) });
    await untilWaiting();
    expect([underWay.count(), served.deps.openCalls.count()]).toEqual([1, 0]);
    for (const path of ["/api/health", "/api/ready", "/metrics", "/v1/models"])
      expect((await callGateway(at, { method: "GET", path })).status).toBe(200);
    begin?.();
    expect((await answering).status).toBe(200);
    expect(underWay.count()).toBe(0);
  });

  it("counts the time before its turn as time of the call", async () => {
    const answering = callGateway(ordered.port, { body: chatBody(MODEL) });
    await untilWaiting();
    const arrived = performance.now();
    await expect.poll(() => performance.now() - arrived).toBeGreaterThan(50);
    begin?.();
    expect((await answering).status).toBe(200);
    await expect.poll(() => logged).toContain("/v1/chat/completions");
    expect(JSON.parse(logged.trim()).duration_ms).toBeGreaterThan(50);
  });

  it("refuses it in its turn where it no longer has room", async () => {
    const answering = callGateway(ordered.port, { body: chatBody(MODEL) });
    await untilWaiting();
    begin?.(
      new ServiceError("overloaded", "Overloaded; send the request again.", {
        retryAfterSeconds: 1,
      }),
    );
    expectOverloaded(await answering);
  });

  it("calls no engine for a client that has left meanwhile, and still knows its address", async () => {
    const calls = simulator.ledger().length;
    const client = await openCall(ordered.port, { body: chatBody(MODEL) });
    await untilWaiting();
    client.reset();
    // The next call arrives after the end of that connection.
    await callGateway(ordered.port, { method: "GET", path: "/api/health" });
    begin?.();
    await expect.poll(() => underWay.count()).toBe(0);
    expect([served.deps.openCalls.count(), simulator.ledger().length]).toEqual([0, calls]);
    expect(logged).toContain('"client":"127.0.0.1"');
  });
});
