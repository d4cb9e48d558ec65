import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { chatBody } from "../../support/clients/call-gateway.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { addPerson } from "../../support/stages/usage/usage-people.ts";

const SECRET = "a-secret-of-the-engine";

let simulator: TestSimulator;
let served: ServedDeps;
let admin: string;
let user: string;

beforeAll(async () => {
  simulator = await startSimulator();
  served = await serveDeps(databaseServerUrl, {
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    LLM_API_KEY: SECRET,
    OTEL_SERVICE_NAME: "trial",
  });
  await served.deps.gateway.models.refresh();
  admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
  user = (await addPerson(served.url, admin, "ada")).token;
});
afterAll(async () => {
  await served.close();
  await simulator.stop();
});

const get = (path: string, token = admin) => callHttp(served.url, { path, token });
const tryTool = (name: string, body: unknown, token = admin) =>
  callHttp(served.url, { method: "POST", path: `/api/tools/${name}/call`, body, token });

describe("GET /api/status", () => {
  it("tells everybody how the server is, and administrators what to do", async () => {
    // A check of readiness has a second, which a busy machine may exceed.
    const isReady = async () => (await get("/api/status")).body.ready;
    await expect.poll(isReady, { timeout: 30_000 }).toBe(true);
    const shown = await get("/api/status");
    expect(shown.body).toMatchObject({
      object: "status",
      version: served.deps.version,
      build: { runtime: process.versions["bun"] === undefined ? "node" : "bun" },
      ready: true,
      failed: [],
      engine: { backend: "vllm", reachable: true, simulated: true },
      license: { valid: true },
      failing_workflows: 0,
      administration: {
        hints: {},
        dead_events: 0,
        tools_waiting: 0,
        database: databaseServerUrl === undefined ? "embedded" : "postgres",
      },
    });
    expect((await get("/api/status", user)).body).toMatchObject({ administration: null });
  });

  it("asks the database once for all consoles that poll at the same time", async () => {
    const { database } = served.deps.workflows;
    const asked = vi.spyOn(database, "ask");
    try {
      const polls = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? admin : user));
      const shown = await Promise.all(polls.map((token) => get("/api/status", token)));
      expect(new Set(shown.map(({ status }) => status))).toEqual(new Set([200]));
      // For each session, and for the two figures of all; twice where the answers before have grown old.
      expect(asked.mock.calls.length).toBeLessThanOrEqual(polls.length + 4);
    } finally {
      asked.mockRestore();
    }
  });
});

describe("GET /api/models/figures", () => {
  it("shows calls by model to every user, with times of the newest ones", async () => {
    for (const stream of [false, true, true]) {
      const called = await callHttp(served.url, {
        method: "POST",
        path: "/v1/chat/completions",
        token: TEST_KEY,
        body: { ...chatBody("sim-chat"), stream },
      });
      expect(called.status).toBe(200);
    }
    const read = async (hours: number) =>
      (await get(`/api/models/figures?hours=${hours}`, user)).body;
    // Each number of hours is an answer of its own; one is used again for a while.
    let hours = 0;
    await expect
      .poll(async () => (await read(++hours % 168 || 1)).data[0]?.requests, { timeout: 30_000 })
      .toBe(3);
    const { data, from } = await read(hours);
    expect(Date.parse(from) % 3_600_000).toBe(0);
    const [first] = data;
    expect(first).toMatchObject({ model: "sim-chat", requests: 3, failures: 0, sampled: 3 });
    expect(first.latency_ms_p95).toBeGreaterThanOrEqual(first.latency_ms_p50);
    expect(first.latency_ms_p50).toBeGreaterThanOrEqual(first.first_token_ms_p50);
    expect(JSON.stringify(data)).not.toContain("key");
  });

  it("refuses hours that are none", async () => {
    for (const hours of ["0", "169", "x", "1.5"]) {
      const refused = await get(`/api/models/figures?hours=${hours}`);
      expect([hours, refused.status, refused.body.error.param]).toEqual([hours, 400, "hours"]);
    }
  });
});

describe("GET /api/admin/engines", () => {
  it("lists the local engine with its state, calls and models", async () => {
    const { body } = await get("/api/admin/engines");
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      backend: "vllm",
      host: new URL(simulator.url).host,
      state: "up",
      open_calls: 0,
      models: expect.arrayContaining(["sim-chat"]),
    });
    expect(Date.parse(body.data[0].since)).toBeGreaterThan(0);
  });
});

describe("GET /api/admin/file-connections", () => {
  it("names the folders to administrators, without their paths", async () => {
    const { body } = await get("/api/admin/file-connections");
    expect(body.data).toEqual([{ object: "file_connection", name: "workspace", watched: false }]);
    expect((await get("/api/admin/file-connections", user)).status).toBe(403);
  });
});

describe("POST /api/admin/engines/recheck", () => {
  it("asks the engine now, and tells why it lists no models", async () => {
    const recheck = (token = admin) =>
      callHttp(served.url, { method: "POST", path: "/api/admin/engines/recheck", token });
    const body = { detail: "out of memory" };
    const respond = { status: 500, body };
    simulator.script({ match: { path: "/v1/models" }, times: "always", respond });
    // A refresh that is under way is joined, and may have been answered before.
    await recheck();
    const failing = (await recheck()).body.data[0];
    expect(failing).toMatchObject({ backend: "vllm", failure: expect.stringContaining("500") });
    simulator.reset();
    await recheck();
    expect((await recheck()).body.data[0]).toMatchObject({ state: "up", failure: null });
    expect((await recheck(user)).status).toBe(403);
  });
});

describe("GET /api/admin/settings", () => {
  it("shows values and defaults, and never a secret", async () => {
    const { body, text } = await get("/api/admin/settings");
    const named = (name: string) => body.data.find((one: { name: string }) => one.name === name);
    expect(named("PORT")).toMatchObject({ value: 8_080, default: true, secret: false, set: true });
    expect(named("OTEL_SERVICE_NAME")).toMatchObject({ value: "trial", default: false });
    expect(named("LLM_BASE_URL")).toMatchObject({ value: [simulator.url], default: false });
    expect(named("TRUST_PROXY")).toMatchObject({ value: 1, default: false });
    expect(named("LLM_API_KEY")).toMatchObject({ value: null, set: true, secret: true });
    expect(named("METRICS_TOKEN")).toMatchObject({ value: null, set: false, secret: true });
    expect(named("MODELS_FILE")).toMatchObject({ value: null, set: false, default: true });
    for (const secret of [SECRET, ADMIN_PASSWORD, TEST_KEY]) expect(text).not.toContain(secret);
  });
});

describe("/api/tools", () => {
  it("lists all tools, and tries one with its arguments", async () => {
    const { body } = await get("/api/tools");
    const names = body.data.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["query_sql", "search_knowledge"]));
    const tried = await tryTool("list_file_connections", {});
    expect(tried.body).toMatchObject({ object: "tool.result", is_error: false, param: null });
    expect(tried.body.text).toContain("workspace");
    const wrong = await tryTool("find_files", { arguments: { limit: "many" } });
    expect(wrong.body).toMatchObject({ is_error: true, param: "limit" });
    expect(wrong.body.text).toContain("find_files");
  });

  it("has each trial in the audit log, without its arguments", async () => {
    await tryTool("find_files", { arguments: { pattern: "not-to-be-logged" } });
    const read = async () => (await get("/api/admin/audit?limit=50")).body.data;
    const actions = async () =>
      (await read())
        .filter((one: { target: { id: string } }) => one.target.id === "find_files")
        .map(({ action }: { action: string }) => action);
    await expect
      .poll(actions, { timeout: 20_000 })
      .toEqual(expect.arrayContaining(["tool.call", "tool.finish"]));
    expect(JSON.stringify(await read())).not.toContain("not-to-be-logged");
  });

  it("refuses users, unknown tools, assistants and stores", async () => {
    expect((await tryTool("find_files", {}, user)).status).toBe(403);
    expect((await get("/api/tools", user)).status).toBe(403);
    for (const [name, body] of [
      ["no_such_tool", {}],
      ["search_knowledge", {}],
      ["find_files", { assistant_id: "asst_0" }],
      ["search_knowledge", { vector_store_ids: ["vs_0"] }],
    ] as const) {
      expect([name, (await tryTool(name, body)).status]).toEqual([name, 404]);
    }
    expect((await tryTool("find_files", { more: 1 })).status).toBe(400);
  });
});

describe("POST /api/documents/text", () => {
  const send = async (content: string | Uint8Array<ArrayBuffer>, name: string, field = "file") => {
    const form = new FormData();
    form.append(field, new Blob([content]), name);
    const headers = { authorization: `Bearer ${user}` };
    const path = `${served.url}/api/documents/text`;
    const response = await fetch(path, { method: "POST", headers, body: form });
    return { status: response.status, body: await response.json() };
  };

  it("reads documents and keeps nothing", async () => {
    const page = await send("<h1>Pump</h1><p>It is dry.</p>", "a.html");
    expect(page).toMatchObject({
      status: 200,
      body: { text: "# Pump\n\nIt is dry.", pages: null },
    });
    const table = await send("Name,Price\nBolt,5\nNut,3\n", "b.csv");
    expect(table.body.text).toMatch(/\nName: Bolt; Price: 5\nName: Nut; Price: 3$/);
    expect(table.body).toMatchObject({ filename: "b.csv", bytes: 24, truncated: false });
    const long = await send(`${"word ".repeat(300_000)}`, "c.txt");
    expect(long.body).toMatchObject({ characters: 1_000_000, truncated: true });
    expect((await get("/v1/files", user)).body.data).toEqual([]);
  });

  it("says why a file cannot be read", async () => {
    const archive = await send(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff]), "d.png");
    expect([archive.status, archive.body.error.code]).toEqual([415, "unsupported_media_type"]);
    const broken = await send("%PDF-1.7 and nothing of it", "e.pdf");
    expect([broken.status, broken.body.error.param]).toEqual([400, "file"]);
    expect((await send("", "f.txt")).status).toBe(415);
    expect((await send("text", "g.txt", "document")).status).toBe(400);
    const json = { method: "POST", path: "/api/documents/text", token: user, body: {} };
    expect((await callHttp(served.url, json)).status).toBe(415);
  });
});
