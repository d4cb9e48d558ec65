import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

type Json = Readonly<Record<string, unknown>>;

const ADMIN_PASSWORD = "the administrator's own password";
const USER_PASSWORD = "a password of the user's own";
const COLLECTION = "/v1/api-keys";
const MODEL = "first";
/** 2.1 and the decisions on keys: all that is shown of one. */
const FIELDS = {
  id: expect.stringMatching(/^key_[0-9A-Za-z]{22}$/),
  object: "api_key",
  name: "plain",
  prefix: "sk-",
  last_four: expect.stringMatching(/^[0-9A-Za-z]{4}$/),
  state: "active",
  owner_id: expect.stringMatching(/^usr_/),
  assistant_id: null,
  passthrough: false,
  max_level: "read_only",
  tool_scope: { tools: ["*"], sql_connections: ["*"] },
  monthly_token_limit: null,
  request_limit: null,
  rpm_limit: null,
  token_limit: null,
  ip_allow: [],
  expires_at: null,
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  last_used_at: null,
};

let simulator: TestSimulator;
let gateway: TestGateway;
let store: Awaited<ReturnType<typeof createMigratedDatabase>> | undefined;
let adminToken: string;
let userToken: string;
let userId: string;

interface Asked {
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

function ask(method: string, path: string, { body, token, headers }: Asked = {}) {
  const authorization = `Bearer ${token ?? TEST_KEY}`;
  return callGateway(gateway.port, { method, path, body, headers: { authorization, ...headers } });
}

async function told(answer: Promise<RawResponse>, status = 200): Promise<Json> {
  const { text, status: given } = await answer;
  expect({ given, text }).toMatchObject({ given: status });
  return JSON.parse(text) as Json;
}

interface Issued {
  readonly id: string;
  readonly key: string;
}

async function issue(fields: Json = {}, token = TEST_KEY): Promise<Issued> {
  const body = { name: "plain", ...fields };
  const { id, key } = await told(ask("POST", COLLECTION, { body, token }), 201);
  return { id: String(id), key: String(key) };
}

const chat = (key: string, headers: Asked["headers"] = {}) =>
  ask("POST", "/v1/chat/completions", { token: key, headers, body: chatBody(MODEL) });

beforeAll(async () => {
  simulator = await startSimulator({
    models: [{ name: MODEL, contextLength: 8_192, capabilities: ["completion"] }],
  });
  store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  gateway = await startGateway({
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ...(store !== undefined && { DATABASE_URL: store.url }),
  });
  const logIn = async (username: string, password: string) =>
    String((await told(ask("POST", "/api/auth/login", { body: { username, password } })))["token"]);
  adminToken = await logIn("admin", ADMIN_PASSWORD);
  const user = { username: "ada", password: "a password to be changed" };
  userId = String(
    (await told(ask("POST", "/api/admin/users", { token: adminToken, body: user }), 201))["id"],
  );
  const change = { current_password: user.password, new_password: USER_PASSWORD };
  const first = await logIn("ada", user.password);
  await told(ask("POST", "/api/auth/password", { token: first, body: change }));
  userToken = await logIn("ada", USER_PASSWORD);
});

afterAll(async () => {
  await gateway?.stop();
  await simulator?.stop();
  await store?.drop();
});

describe("POST /v1/api-keys", () => {
  it("answers every field, and the secret this once", async () => {
    const answer = await ask("POST", COLLECTION, { body: { name: "plain" } });
    expect(answer.header("cache-control")).toBe("no-store");
    const { key, ...shown } = await told(Promise.resolve(answer), 201);
    expect(key).toMatch(/^sk-[0-9A-Za-z]{43}$/);
    expect(shown).toEqual({ ...FIELDS, last_four: String(key).slice(-4) });
    expect((await chat(String(key))).status).toBe(200);
    expect(await told(ask("GET", `${COLLECTION}/${shown["id"]}`))).toEqual(shown);
    const { text } = await ask("GET", COLLECTION);
    expect(text).toContain(String(shown["id"]));
    expect(text).not.toContain(String(key).slice(0, -4));
    expect(gateway.output()).not.toContain(String(key));
  });

  it("takes every field that its owner decides", async () => {
    const assistant = await told(ask("POST", "/v1/assistants", { body: {} }));
    const fields = {
      name: "Ключ 🔑 d'accès; drop table api_keys --",
      state: "inactive",
      assistant_id: assistant["id"],
      passthrough: true,
      max_level: "full_auto",
      tool_scope: { tools: ["search", "execute_shell"], sql_connections: ["sales"] },
      monthly_token_limit: 9_007_199_254_740_991,
      request_limit: 0,
      rpm_limit: 60,
      token_limit: null,
      ip_allow: ["10.0.0.0/8", "2001:db8::1", "::ffff:192.0.2.0/120"],
      expires_at: "2099-12-31T23:59:59.123+02:00",
    };
    const { key, ...shown } = await told(
      ask("POST", COLLECTION, { body: fields, token: adminToken }),
      201,
    );
    expect(shown).toEqual({ ...FIELDS, ...fields, expires_at: "2099-12-31T21:59:59.123Z" });
    expectChatError(await chat(String(key)), 401, "invalid_api_key");
  });

  it("binds a key to an assistant that its maker may use, and to no other", async () => {
    const make = async (token: string, body: Json = {}) =>
      String((await told(ask("POST", "/v1/assistants", { token, body })))["id"]);
    const [theirs, own] = [await make(adminToken), await make(userToken)];
    const shared = await make(adminToken, { ext: { visibility: "everyone" } });
    const bind = (id: string, token: string) =>
      ask("POST", COLLECTION, { token, body: { name: "bound", assistant_id: id } });
    for (const [token, id, status] of [
      [userToken, own, 201],
      [userToken, shared, 201],
      [userToken, theirs, 404],
      [userToken, "asst_0000000000000000000000", 404],
      [adminToken, own, 201],
      [adminToken, theirs, 201],
      [adminToken, "asst_0000000000000000000000", 404],
    ] as const) {
      const answer = await bind(id, token);
      expect([id, answer.status, answer.text]).toEqual([id, status, expect.any(String)]);
      if (status === 404) {
        expect(expectChatError(answer, 404, "not_found").param).toBe("assistant_id");
      }
    }
    // A bound key is changed to another assistant by the same rule, and keeps one that is deleted.
    const { id } = await told(bind(own, userToken), 201);
    const change = (assistantId: string | null, token: string) =>
      ask("PATCH", `${COLLECTION}/${id}`, { token, body: { assistant_id: assistantId } });
    expect((await change(theirs, userToken)).status).toBe(404);
    await told(ask("DELETE", `/v1/assistants/${own}`, { token: userToken }));
    expect(await told(change(own, userToken))).toMatchObject({ assistant_id: own });
    const bound = await told(ask("GET", `${COLLECTION}?assistant_id=${own}`, { token: userToken }));
    const keys = bound["data"] as Json[];
    expect(keys.map((key) => key["id"])).toContain(id);
    expect(new Set(keys.map((key) => key["assistant_id"]))).toEqual(new Set([own]));
    expect(await told(change(null, userToken))).toMatchObject({ assistant_id: null });
    expect((await change(own, userToken)).status).toBe(404);
  });

  it("gives a key that a key makes its maker's scope, and an owner no way past an administrator's", async () => {
    const scope = { tools: ["mcp_crm_*", "read_file"], sql_connections: [] };
    const body = { name: "narrow", tool_scope: scope, owner_id: userId };
    const maker = await told(ask("POST", COLLECTION, { token: adminToken, body }), 201);
    const token = String(maker["key"]);
    const child = (fields: Json) =>
      ask("POST", COLLECTION, { token, body: { name: "c", ...fields } });
    expect((await told(child({}), 201))["tool_scope"]).toEqual(scope);
    const less = { tools: ["mcp_crm_find"], sql_connections: [] };
    expect((await told(child({ tool_scope: less }), 201))["tool_scope"]).toEqual(less);
    const none = { tools: [], sql_connections: [] };
    expect((await told(child({ tool_scope: none }), 201))["tool_scope"]).toEqual(none);
    const change = (tools: string[], by: string) =>
      ask("PATCH", `${COLLECTION}/${maker["id"]}`, {
        token: by,
        body: { tool_scope: { tools, sql_connections: [] } },
      });
    for (const tools of [["*"], ["mcp_*"], ["write_file"]]) {
      const given = await child({ tool_scope: { tools, sql_connections: [] } });
      expect(expectChatError(given, 403, "insufficient_permission").param).toBe("tool_scope");
      const raised = await change(tools, userToken);
      expect(expectChatError(raised, 403, "insufficient_permission").param).toBe("tool_scope");
    }
    await told(change(["mcp_crm_find"], userToken));
    await told(change(["mcp_crm_*"], userToken));
  });

  it.each<[string, Json]>([
    ["name", { name: undefined }],
    ["name", { name: "" }],
    ["name", { name: "a".repeat(201) }],
    ["name", { name: "a\u0000b" }],
    ["name", { name: "a\nb" }],
    ["name", { name: "a\u0085b" }],
    ["name", { name: 1 }],
    ["name", { name: null }],
    ["state", { state: "deleted" }],
    ["state", { state: null }],
    ["assistant_id", { assistant_id: "bot" }],
    ["assistant_id", { assistant_id: "asst_" }],
    ["assistant_id", { assistant_id: "asst_1\n" }],
    ["passthrough", { passthrough: 1 }],
    ["max_level", { max_level: "root" }],
    ["tool_scope", { tool_scope: [] }],
    ["tool_scope.tools", { tool_scope: { tools: "search" } }],
    ["tool_scope.tools[1]", { tool_scope: { tools: ["search", 1] } }],
    ["tool_scope.connections", { tool_scope: { connections: [] } }],
    ["tool_scope.tools[0]", { tool_scope: { tools: ["a\u0000"] } }],
    ["monthly_token_limit", { monthly_token_limit: -1 }],
    ["request_limit", { request_limit: 1.5 }],
    ["rpm_limit", { rpm_limit: "60" }],
    ["token_limit", { token_limit: 9_007_199_254_740_992 }],
    ["token_limit", { token_limit: 1e300 }],
    ["ip_allow", { ip_allow: "10.0.0.0/8" }],
    ["ip_allow", { ip_allow: Array.from({ length: 101 }, () => "::1") }],
    ["ip_allow[2]", { ip_allow: ["10.0.0.0/8", "::1", "10.0.0.0/33"] }],
    ["ip_allow[0]", { ip_allow: ["example.com"] }],
    ["ip_allow[0]", { ip_allow: ["10.0.0.1:80"] }],
    ["ip_allow[0]", { ip_allow: [""] }],
    ["ip_allow[1]", { ip_allow: ["::1", null] }],
    ["expires_at", { expires_at: "2020-01-01T00:00:00Z" }],
    ["expires_at", { expires_at: "tomorrow" }],
    ["expires_at", { expires_at: "2099-01-01" }],
    ["expires_at", { expires_at: "2099-02-30T00:00:00Z" }],
    ["expires_at", { expires_at: 4_070_908_800 }],
    ["owner_id", { owner_id: 1 }],
    ["owner_id", { owner_id: "a\u0000" }],
    // K12: what the service decides.
    ["id", { id: "key_0000000000000000000000" }],
    ["object", { object: "api_key" }],
    ["key", { key: "sk-of-my-own-choice-0123456789" }],
    ["keyHash", { keyHash: "abc" }],
    ["key_hash", { key_hash: "abc" }],
    ["previous_key_hash", { previous_key_hash: "abc" }],
    ["prefix", { prefix: "sk-" }],
    ["last_four", { last_four: "abcd" }],
    ["userId", { userId: "usr_1" }],
    ["ownerId", { ownerId: "usr_1" }],
    ["used", { used: 0 }],
    ["change_seq", { change_seq: 0 }],
    ["changeSeq", { changeSeq: 0 }],
    ["created_at", { created_at: "2020-01-01T00:00:00Z" }],
    ["last_used_at", { last_used_at: null }],
    ["allowed_dashboards", { allowed_dashboards: [] }],
    ["constructor", { constructor: {} }],
  ])("refuses a wrong or unknown %s and names it: %j", async (param, fields) => {
    const before = await told(ask("GET", `${COLLECTION}?limit=1`));
    const answer = await ask("POST", COLLECTION, { body: { name: "plain", ...fields } });
    expect(expectChatError(answer, 400)).toMatchObject({ param });
    expect(await told(ask("GET", `${COLLECTION}?limit=1`))).toEqual(before);
  });

  it.each([
    ["invalid_json", ""],
    ["invalid_json", "{"],
    ["invalid_value", "null"],
    ["invalid_value", "[]"],
    ["invalid_value", '"name"'],
    ["unsupported_parameter", '{"name":"a","__proto__":{"state":"inactive"}}'],
  ])("refuses with %s the body %j", async (code, body) => {
    const length = { "content-length": String(body.length) };
    expectChatError(await ask("POST", COLLECTION, { body, headers: length }), 400, code);
  });

  it("refuses a body that is no JSON or too long", async () => {
    const plain = { "content-type": "text/plain" };
    expectChatError(await ask("POST", COLLECTION, { body: "{}", headers: plain }), 415);
    const long = { name: "a", tool_scope: { tools: ["b".repeat(70_000)] } };
    expectChatError(await ask("POST", COLLECTION, { body: long }), 413, "request_too_large");
  });

  it("gives a key to a user on an administrator's word, and to oneself", async () => {
    const named = await told(
      ask("POST", COLLECTION, { body: { name: "plain", owner_id: userId } }),
      201,
    );
    expect(named).toMatchObject({ owner_id: userId });
    const own = await told(
      ask("POST", COLLECTION, { body: { name: "plain" }, token: userToken }),
      201,
    );
    expect(own).toMatchObject({ owner_id: userId });
    const unknown = { name: "plain", owner_id: "usr_unknown" };
    expect(
      expectChatError(await ask("POST", COLLECTION, { body: unknown }), 404, "not_found"),
    ).toMatchObject({ param: "owner_id" });
    expectChatError(
      await ask("POST", COLLECTION, { body: unknown, token: userToken }),
      403,
      "insufficient_permission",
    );
  });
});

describe("GET /v1/api-keys", () => {
  it("is a page of those that the caller may see", async () => {
    const { id, key } = await issue({ name: "a name of its own" }, userToken);
    const all = await told(ask("GET", `${COLLECTION}?search=OF%20ITS`));
    expect(all).toMatchObject({ object: "list", data: [{ id }], total: 1 });
    const own = await told(ask("GET", `${COLLECTION}?limit=1&state=active`, { token: key }));
    expect(own).toMatchObject({ object: "list", data: [{ owner_id: userId }] });
    expect(Number(own["total"])).toBeGreaterThan(1);
    const ofUser = await told(ask("GET", `${COLLECTION}?owner_id=${userId}&limit=1000`));
    expect((ofUser["data"] as Json[]).every(({ owner_id: owner }) => owner === userId)).toBe(true);
  });

  it.each([
    ["limit", "limit=0"],
    ["limit", "limit=1001"],
    ["limit", "limit=ten"],
    ["offset", "offset=-1"],
    ["offset", "offset=1.5"],
    ["state", "state=gone"],
    ["search", `search=${"a".repeat(201)}`],
  ])("refuses a wrong %s: %s", async (param, query) => {
    const answer = await ask("GET", `${COLLECTION}?${query}`);
    expect(expectChatError(answer, 400, "invalid_value")).toMatchObject({ param });
  });

  it("refuses NUL in a parameter", async () => {
    for (const name of ["search", "owner_id", "state"]) {
      expectChatError(await ask("GET", `${COLLECTION}?${name}=a%00b`), 400);
    }
  });
});

describe("PATCH /v1/api-keys/{id}", () => {
  const patch = (id: string, body: unknown, token = TEST_KEY) =>
    ask("PATCH", `${COLLECTION}/${id}`, { body, token });

  it("holds for the next call; null lifts a limit", async () => {
    const { id, key } = await issue({ request_limit: 0, rpm_limit: 5 });
    expectChatError(await chat(key), 429, "request_limit_exceeded");
    const changed = await told(patch(id, { request_limit: null, name: "changed" }));
    expect(changed).toEqual({
      ...FIELDS,
      id,
      name: "changed",
      rpm_limit: 5,
      last_four: key.slice(-4),
    });
    expect((await chat(key)).status).toBe(200);
    await told(patch(id, { state: "inactive" }));
    expectChatError(await chat(key), 401, "invalid_api_key");
    await told(patch(id, { state: "active" }));
    expect((await chat(key)).status).toBe(200);
  });

  it.each<[string | null, Json]>([
    [null, {}],
    ["name", { name: null }],
    ["state", { state: "gone" }],
    ["ip_allow[1]", { ip_allow: ["::1", "::1/129"] }],
    ["expires_at", { expires_at: "2020-01-01T00:00:00Z" }],
    ["owner_id", { owner_id: "usr_1" }],
    ["id", { id: "key_1" }],
    ["key", { key: "sk-0123456789abcdefghijklmnop" }],
    ["created_at", { created_at: "2020-01-01T00:00:00Z" }],
    ["keyHash", { name: "good", keyHash: "abc" }],
  ])("refuses a wrong, foreign or missing field %s: %j", async (param, body) => {
    const { id } = await issue();
    expect(expectChatError(await patch(id, body), 400)).toMatchObject({ param });
    expect(await told(ask("GET", `${COLLECTION}/${id}`))).toMatchObject({ name: "plain" });
  });

  it("K12 knows nothing of another user's key", async () => {
    const { id, key } = await issue();
    for (const unknown of [id, "key_0000000000000000000000", "..", "a%20b"]) {
      const path = `${COLLECTION}/${unknown}`;
      const one = { token: userToken };
      const answers = [
        await ask("GET", path, one),
        await ask("PATCH", path, { ...one, body: { state: "inactive" } }),
        await ask("DELETE", path, one),
        await ask("POST", `${path}/rotate`, { ...one, body: {} }),
        await ask("GET", `${path}/usage`, one),
      ];
      if (unknown === "..") {
        for (const answer of answers) expect([400, 404]).toContain(answer.status);
        continue;
      }
      for (const answer of answers) {
        expect(expectChatError(answer, 404, "not_found").message).toMatch(/GET \/v1\/api-keys/);
      }
    }
    expect((await chat(key)).status).toBe(200);
  });

  it("is not for a restricted key, which reads itself alone", async () => {
    const { id, key } = await issue({ rpm_limit: 100 });
    const denied = { token: key, body: { rpm_limit: null } };
    expectChatError(
      await ask("PATCH", `${COLLECTION}/${id}`, denied),
      403,
      "insufficient_permission",
    );
    expect(await told(ask("GET", `${COLLECTION}/${id}`, { token: key }))).toMatchObject({ id });
    const { id: other } = await issue();
    expectChatError(await ask("GET", `${COLLECTION}/${other}`, { token: key }), 404, "not_found");
  });
});

describe("DELETE /v1/api-keys/{id}", () => {
  it("K01 ends the key with the next call", async () => {
    const { id, key } = await issue();
    expect((await chat(key)).status).toBe(200);
    const path = `${COLLECTION}/${id}`;
    expect(await told(ask("DELETE", path))).toEqual({
      id,
      object: "api_key.deleted",
      deleted: true,
    });
    const refused = await chat(key);
    expectChatError(refused, 401, "invalid_api_key");
    expect(refused.header("www-authenticate")).toBe("Bearer");
    for (const method of ["GET", "DELETE"]) {
      expectChatError(await ask(method, path), 404, "not_found");
    }
  });

  it("lets no key give more than it has, and names what", async () => {
    const { id, key } = await issue();
    const fields = { max_level: "full_auto" };
    const tries = [
      ask("PATCH", `${COLLECTION}/${id}`, { body: fields, token: key }),
      ask("POST", COLLECTION, { body: { name: "successor", ...fields }, token: key }),
    ];
    for (const answer of await Promise.all(tries)) {
      expectChatError(answer, 403, "insufficient_permission");
      expect(JSON.parse(answer.text).error.param).toBe("max_level");
    }
    const path = `${COLLECTION}/${id}`;
    expect(await told(ask("PATCH", path, { body: fields, token: adminToken }))).toMatchObject(
      fields,
    );
  });

  it("lets a key end itself", async () => {
    const { id, key } = await issue();
    await told(ask("DELETE", `${COLLECTION}/${id}`, { token: key }));
    expectChatError(await ask("DELETE", `${COLLECTION}/${id}`, { token: key }), 401);
  });
});

describe("POST /v1/api-keys/{id}/rotate", () => {
  it("gives a new secret, with or without an overlap, with or without a body", async () => {
    const { id, key } = await issue({ rpm_limit: 60 });
    const rotate = (asked: Asked) => ask("POST", `${COLLECTION}/${id}/rotate`, asked);
    const answer = await rotate({ body: { overlap_seconds: 600 } });
    expect(answer.header("cache-control")).toBe("no-store");
    const { key: second, ...shown } = await told(Promise.resolve(answer));
    expect(shown).toEqual({
      ...FIELDS,
      id,
      rpm_limit: 60,
      last_four: String(second).slice(-4),
    });
    expect([(await chat(key)).status, (await chat(String(second))).status]).toEqual([200, 200]);
    const { key: third } = await told(rotate({}));
    expect((await chat(String(third))).status).toBe(200);
    for (const old of [key, String(second)]) expectChatError(await chat(old), 401);
  });

  it.each<[string, unknown]>([
    ["overlap_seconds", { overlap_seconds: -1 }],
    ["overlap_seconds", { overlap_seconds: 2_592_001 }],
    ["overlap_seconds", { overlap_seconds: 0.5 }],
    ["overlap_seconds", { overlap_seconds: "60" }],
    ["overlap_seconds", { overlap_seconds: null }],
    ["key", { key: "sk-0123456789abcdefghijklmnop" }],
  ])("refuses a wrong %s: %j", async (param, body) => {
    const { id, key } = await issue();
    const answer = await ask("POST", `${COLLECTION}/${id}/rotate`, { body });
    expect(expectChatError(answer, 400)).toMatchObject({ param });
    expect((await chat(key)).status).toBe(200);
  });
});

describe("GET /v1/api-keys/{id}/usage", () => {
  it("tells calls, tokens and what is left of the limits", async () => {
    const { id, key } = await issue({ request_limit: 10, monthly_token_limit: 1_000_000 });
    const usage = () => told(ask("GET", `${COLLECTION}/${id}/usage`, { token: key }));
    const nothing = {
      requests: 0,
      failures: 0,
      input_tokens: 0,
      output_tokens: 0,
      cached_tokens: 0,
      reasoning_tokens: 0,
    };
    expect(await usage()).toEqual({
      object: "api_key.usage",
      key_id: id,
      totals: nothing,
      by_day: [],
      by_model: [],
      limits: {
        requests: { limit: 10, used: 0, reserved: 0, remaining: 10, resets_at: null },
        monthly_tokens: {
          limit: 1_000_000,
          used: 0,
          reserved: 0,
          remaining: 1_000_000,
          resets_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
        },
      },
    });
    const { usage: spent } = await told(chat(key));
    const { prompt_tokens: input, completion_tokens: output } = spent as Record<string, number>;
    const counted = { ...nothing, requests: 1, input_tokens: input, output_tokens: output };
    await expect
      .poll(async () => (await usage())["totals"], { timeout: 10_000 })
      .toMatchObject({ requests: 1 });
    const { totals, by_day: byDay, by_model: byModel, limits } = await usage();
    expect(totals).toMatchObject({ ...counted, cached_tokens: expect.any(Number) });
    expect(byDay).toEqual([{ date: new Date().toISOString().slice(0, 10), ...(totals as Json) }]);
    expect(byModel).toEqual([{ model: MODEL, ...(totals as Json) }]);
    const tokens = Number(input) + Number(output);
    expect(limits).toMatchObject({
      requests: { used: 1, reserved: 0, remaining: 9 },
      monthly_tokens: { used: tokens, reserved: 0, remaining: 1_000_000 - tokens },
    });
  });

  it("is for the own keys alone, administrators too", async () => {
    const { id } = await issue({}, userToken);
    expectChatError(await ask("GET", `${COLLECTION}/${id}/usage`), 404, "not_found");
    await told(ask("GET", `${COLLECTION}/${id}/usage?days=400`, { token: userToken }));
  });

  it.each(["0", "401", "1.5", "many", "-1"])("refuses days=%s", async (days) => {
    const { id } = await issue();
    const answer = await ask("GET", `${COLLECTION}/${id}/usage?days=${days}`);
    expect(expectChatError(answer, 400, "invalid_value")).toMatchObject({ param: "days" });
  });
});

describe("K08 a hostile credential", () => {
  it.each<[string, Readonly<Record<string, string | undefined>>]>([
    ["SQL", { authorization: "Bearer ' OR '1'='1" }],
    ["SQL behind the prefix", { authorization: "Bearer sk-'OR'1'='1'--0123456789" }],
    ["10 kB", { authorization: `Bearer sk-${"a".repeat(10_000)}` }],
    ["10 kB in x-api-key", { authorization: undefined, "x-api-key": `sk-${"a".repeat(10_000)}` }],
    ["UTF-8", { authorization: "Bearer sk-ключ-0123456789-ключ" }],
    ["Bearer twice", { authorization: `Bearer Bearer ${TEST_KEY}` }],
    ["the key twice", { authorization: `Bearer ${TEST_KEY} ${TEST_KEY}` }],
    ["percent escapes", { authorization: `Bearer ${TEST_KEY}%00` }],
    ["a tab", { authorization: `Bearer\t${TEST_KEY}` }],
    ["no scheme", { authorization: TEST_KEY }],
    ["Basic", { authorization: `Basic ${Buffer.from(`key:${TEST_KEY}`).toString("base64")}` }],
    ["a cookie", { authorization: undefined, cookie: `gateway_session=${TEST_KEY}` }],
    ["a BI key", { authorization: "Bearer bk-0123456789abcdefghijklmnop" }],
    ["nothing", { authorization: undefined }],
  ])("%s is refused with 401, and the database never hears of it", async (_, headers) => {
    const answer = await ask("GET", COLLECTION, { headers });
    expectChatError(answer, 401, "invalid_api_key");
    expect(answer.header("www-authenticate")).toBe("Bearer");
    expect(gateway.output()).not.toMatch(/"level":"error"/);
  });

  it("NUL ends the connection or the call", async () => {
    const answer = await ask("GET", COLLECTION, {
      headers: { authorization: `Bearer ${TEST_KEY}\u0000` },
    }).catch(() => undefined);
    expect([undefined, 400, 401]).toContain(answer?.status);
  });

  it("is never read from the query or the body", async () => {
    for (const name of ["api_key", "key", "access_token", "authorization", "x-api-key"]) {
      const answer = await ask("GET", `${COLLECTION}?${name}=${TEST_KEY}`, {
        headers: { authorization: undefined },
      });
      expectChatError(answer, 401, "invalid_api_key");
    }
  });

  it("a scheme in small letters is none: it is good", async () => {
    await told(ask("GET", COLLECTION, { headers: { authorization: `bearer ${TEST_KEY}` } }));
  });
});

describe("K09 a key in both headers", () => {
  it("counts as Bearer when that is well formed, else as x-api-key", async () => {
    const one = await issue({ name: "one", rpm_limit: 100 });
    const two = await issue({ name: "two", rpm_limit: 100 });
    const seen = async (authorization: string | undefined, xApiKey: string) => {
      const headers = { authorization, "x-api-key": xApiKey };
      const answer = await ask("GET", COLLECTION, { headers });
      if (answer.status !== 200) return answer.status;
      return (answer.json() as { data: { name: string }[] }).data.map(({ name }) => name);
    };
    expect(await seen(`Bearer ${one.key}`, one.key)).toEqual(["one"]);
    expect(await seen(`Bearer ${one.key}`, two.key)).toEqual(["one"]);
    expect(await seen(undefined, two.key)).toEqual(["two"]);
    expect(await seen("Bearer nonsense", two.key)).toEqual(["two"]);
    expect(await seen(`Bearer ${one.key}`, "nonsense")).toEqual(["one"]);
    // Well formed and unknown: it does not give way.
    expect(await seen(`Bearer ${one.key}x`, two.key)).toBe(401);
  });
});

describe("a key with an address list", () => {
  const families: readonly (readonly [path: string, body: Json])[] = [
    ["/v1/chat/completions", chatBody(MODEL)],
    ["/v1/messages", { ...chatBody(MODEL), max_tokens: 16 }],
    ["/v1/responses", { model: MODEL, input: "Tell me something." }],
  ];

  it.each(families)(
    "is refused at %s from elsewhere, whichever header carries it",
    async (path, body) => {
      const { key } = await issue({ ip_allow: ["198.51.100.0/24", "2001:db8::/32"] });
      const engineCalls = () =>
        simulator.ledger().filter((call) => call.path === "/v1/chat/completions").length;
      const before = engineCalls();
      const from = (address: string, header: "authorization" | "x-api-key") =>
        ask("POST", path, {
          body,
          headers: {
            authorization: header === "authorization" ? `Bearer ${key}` : undefined,
            "x-api-key": header === "x-api-key" ? key : undefined,
            "x-forwarded-for": address,
            forwarded: "for=198.51.100.7",
            "x-real-ip": "198.51.100.7",
          },
        });
      for (const header of ["authorization", "x-api-key"] as const) {
        for (const inside of [
          "198.51.100.7",
          "10.0.0.1, ::ffff:198.51.100.7",
          "[2001:db8::1]:80",
        ]) {
          expect((await from(inside, header)).status, inside).toBe(200);
        }
        for (const outside of ["198.51.101.7", "198.51.100.7, 10.0.0.1", "unknown", "::1", ""]) {
          const answer = await from(outside, header);
          if (path === "/v1/messages") {
            expect(answer.status, outside).toBe(403);
            expect(answer.json()).toMatchObject({
              type: "error",
              error: { type: "permission_error", message: expect.stringMatching(/address/) },
            });
          } else expectChatError(answer, 403, "ip_denied");
        }
      }
      // Three good calls in either header; no other reached the engine.
      expect(engineCalls() - before).toBe(6);
    },
  );
});
