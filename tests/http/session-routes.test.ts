import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chatBody } from "../support/clients/call-gateway.ts";
import { callHttp, logIn } from "../support/clients/http-session.ts";
import { databaseServerUrl } from "../support/servers/databases/database-server.ts";
import { TEST_KEY } from "../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../support/stages/served-deps.ts";
import { addPerson } from "../support/stages/usage/usage-people.ts";

const MODEL = "first";
const CHAT = "/api/v1/chat/completions";

let simulator: TestSimulator;
let served: ServedDeps;
let isExpired = false;
let admin: string;

beforeAll(async () => {
  simulator = await startSimulator({
    models: [{ name: MODEL, contextLength: 8_192, capabilities: ["completion"] }],
  });
  const environment = { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url };
  served = await serveDeps(databaseServerUrl, environment, (deps) => ({
    ...deps,
    license: { ...deps.license, isInvalid: () => isExpired },
  }));
  admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
});
afterEach(() => {
  isExpired = false;
  simulator.reset();
});
afterAll(async () => {
  await served.close();
  await simulator.stop();
});

const cookie = (token = admin) => ({ cookie: `gateway_session=${token}` });
const body = () => chatBody(MODEL);
const post = (path: string, headers: Readonly<Record<string, string>>, more = {}) =>
  callHttp(served.url, { method: "POST", path, headers, body: { ...body(), ...more } });

describe("/api/v1", () => {
  it("answers a session by its cookie and by its token, in each chat format", async () => {
    const calls = [
      [CHAT, {}],
      ["/api/v1/messages", { max_tokens: 50 }],
      ["/api/v1/responses", { messages: undefined, input: "Hello" }],
    ] as const;
    for (const [path, more] of calls) {
      const byCookie = await post(path, cookie(), more);
      expect([path, byCookie.status, byCookie.body.model]).toEqual([path, 200, MODEL]);
      const byToken = await post(path, { authorization: `Bearer ${admin}` }, more);
      expect([path, byToken.status]).toEqual([path, 200]);
    }
  });

  it("refuses keys and tells where they are valid, and /v1 refuses the cookie", async () => {
    for (const headers of [{ authorization: `Bearer ${TEST_KEY}` }, { "x-api-key": TEST_KEY }]) {
      const refused = await post(CHAT, headers);
      expect([refused.status, refused.body.error.code]).toEqual([403, "insufficient_permission"]);
      expect(refused.body.error.message).toMatch(/valid under \/v1, .*session/);
      const inMessages = await post("/api/v1/messages", headers);
      expect(inMessages.body).toMatchObject({ type: "error", error: { type: "permission_error" } });
    }
    const byCookie = await post("/v1/chat/completions", cookie());
    expect([byCookie.status, byCookie.body.error.code]).toEqual([401, "invalid_api_key"]);
    // A key beside a cookie is the credential.
    const both = await post(CHAT, { ...cookie(), authorization: `Bearer ${TEST_KEY}` });
    expect(both.status).toBe(403);
  });

  it("takes changes by cookie from pages of its own origin alone", async () => {
    const origin = new URL(served.url).origin;
    expect((await post(CHAT, { ...cookie(), origin })).status).toBe(200);
    for (const foreign of [
      { origin: "https://elsewhere.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const refused = await post(CHAT, { ...cookie(), ...foreign });
      expect([foreign, refused.status]).toEqual([foreign, 403]);
    }
  });

  it("refuses a wrong method, a wrong type, a body that is no JSON and an unknown path", async () => {
    const wrong = await callHttp(served.url, { path: CHAT, headers: cookie() });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    const form = { ...cookie(), "content-type": "text/plain" };
    const call = { method: "POST", path: CHAT, body: "hello" };
    expect((await callHttp(served.url, { ...call, headers: form })).status).toBe(415);
    const broken = await callHttp(served.url, { ...call, headers: cookie() });
    expect([broken.status, broken.body.error.code]).toEqual([400, "invalid_json"]);
    for (const path of ["/api/v1/nothing", "/api/v1/health", "/api/v1"])
      expect((await callHttp(served.url, { path, headers: cookie() })).status).toBe(404);
  });

  it("is refused when the license is over, in the family's form, and administration is not", async () => {
    isExpired = true;
    const refused = await post(CHAT, cookie());
    expect([refused.status, refused.body.error.code]).toEqual([403, "license_expired"]);
    const inMessages = await post("/api/v1/messages", cookie());
    expect(inMessages.body).toMatchObject({ type: "error", error: { type: "permission_error" } });
    expect((await callHttp(served.url, { path: "/api/status", headers: cookie() })).status).toBe(
      200,
    );
  });

  it("keeps the limits of the person, and counts for them", async () => {
    const { id, token } = await addPerson(served.url, admin, "limited");
    const limits = { method: "PATCH", path: `/api/admin/users/${id}`, token: admin };
    expect((await callHttp(served.url, { ...limits, body: { rpm_limit: 1 } })).status).toBe(200);
    expect((await post(CHAT, cookie(token))).status).toBe(200);
    const refused = await post(CHAT, cookie(token));
    expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("ends the engine's call when the page leaves a stream", async () => {
    simulator.script({ stall: { at: 2 } });
    const leaving = new AbortController();
    const response = await fetch(served.url + CHAT, {
      method: "POST",
      headers: { ...cookie(), "content-type": "application/json" },
      body: JSON.stringify({ ...body(), stream: true }),
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await response.body?.getReader().read();
    expect(served.deps.openCalls.streams()).toBe(1);
    const calls = async () => {
      const engines = await callHttp(served.url, { path: "/api/admin/engines", token: admin });
      return engines.body.data[0].open_calls;
    };
    expect(await calls()).toBe(1);
    leaving.abort();
    await expect.poll(() => served.deps.openCalls.count(), { timeout: 20_000 }).toBe(0);
    await expect.poll(calls, { timeout: 20_000 }).toBe(0);
  });
});
