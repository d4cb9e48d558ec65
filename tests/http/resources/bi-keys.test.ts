import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "canary: the administrator's own";
const PATH = "/v1/bi-keys";
const UNKNOWN = `${PATH}/bik_0000000000000000000000`;
/** Every secret that is used or given out: none may show in what the server writes. */
const secrets = new Set([ADMIN_PASSWORD, TEST_KEY]);
let gateway: TestGateway;
let admin: string;
let user: string;

const call = (request: HttpCall) => callHttp(gateway.url, { token: admin, ...request });
const create = (body: unknown = { name: "a report" }, more: Partial<HttpCall> = {}) =>
  call({ method: "POST", path: PATH, body, ...more });

/** A key that was issued, whose secret must not show. */
async function issued(body: unknown = { name: "a report" }) {
  const answer = await create(body);
  expect(answer.status).toBe(201);
  secrets.add(answer.body.key);
  return answer.body;
}

beforeAll(async () => {
  gateway = await startGateway({
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    LOG_LEVEL: "debug",
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
  admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
  const named = { username: "user", password: "canary: the first password" };
  await call({ method: "POST", path: "/api/admin/users", body: named });
  const changed = await call({
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(gateway.url, named.username, named.password),
    body: { current_password: named.password, new_password: "canary: the user's own" },
  });
  user = changed.body.token;
  for (const secret of [admin, user, named.password]) secrets.add(secret);
});

afterAll(() => gateway?.stop());

describe("4.5 /v1/bi-keys", () => {
  it("issues a key and shows its secret once", async () => {
    const expires = new Date(Date.now() + 3_600_000);
    const { status, headers, body } = await create({
      name: "Umsätze 📈",
      datasets: ["orders", "customers_2"],
      ip_allow: ["192.0.2.0/24", "2001:db8::1"],
      expires_at: expires.toISOString().replace("Z", "+00:00"),
    });
    expect(status).toBe(201);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      id: expect.stringMatching(/^bik_[0-9A-Za-z]{22}$/),
      object: "bi_key",
      name: "Umsätze 📈",
      prefix: "bk-",
      last_four: body.key.slice(-4),
      state: "active",
      owner_id: expect.stringMatching(/^usr_/),
      datasets: ["orders", "customers_2"],
      row_limit: 1_000_000,
      timeout_seconds: 30,
      max_connections: 10,
      ip_allow: ["192.0.2.0/24", "2001:db8::1"],
      expires_at: expires.toISOString(),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      last_used_at: null,
      key: expect.stringMatching(/^bk-[0-9A-Za-z]{43}$/),
      connections: expect.objectContaining({ psql: null, http: expect.any(String) }),
    });
    secrets.add(body.key);
    const { key: _, connections: __, ...shown } = body;
    expect((await call({ path: `${PATH}/${body.id}` })).body).toEqual(shown);
    const list = await call({ path: `${PATH}?search=${body.id}` });
    expect(list.body).toEqual({ object: "list", data: [shown], total: 1 });
  });

  it("issues a key for a name alone, without a dataset, a range or an end", async () => {
    expect(await issued()).toMatchObject({ datasets: [], ip_allow: [], expires_at: null });
  });

  it("changes what is sent, and nothing else", async () => {
    const {
      key: _,
      connections: __,
      ...before
    } = await issued({ datasets: ["orders"], name: "a" });
    const path = `${PATH}/${before.id}`;
    const limits = { row_limit: 1, timeout_seconds: 600, max_connections: 1_000 };
    const change = { state: "inactive", datasets: ["*"], name: "renamed", ...limits };
    const changed = await call({ method: "PATCH", path, body: change });
    expect(changed).toMatchObject({ status: 200, body: { ...before, ...change } });
    const nothing = await call({ method: "PATCH", path, body: {} });
    expect(nothing).toMatchObject({ status: 200, body: changed.body });
  });

  it("gives a new secret, and deletes", async () => {
    const { key, connections: _, ...before } = await issued();
    const path = `${PATH}/${before.id}`;
    const rotated = await call({ method: "POST", path: `${path}/rotate` });
    expect(rotated).toMatchObject({
      status: 200,
      body: { ...before, last_four: rotated.body.key.slice(-4) },
    });
    expect(rotated.body.key).not.toBe(key);
    expect(rotated.body.connections.http).toContain(rotated.body.key);
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    secrets.add(rotated.body.key);
    const deleted = await call({ method: "DELETE", path });
    const body = { id: before.id, object: "bi_key.deleted", deleted: true };
    expect(deleted).toMatchObject({ status: 200, body });
    expect((await call({ path })).status).toBe(404);
  });

  it("lists in pages", async () => {
    for (const name of ["page 1", "page 2", "page 3"]) await issued({ name });
    const { body } = await call({ path: `${PATH}?search=PAGE&limit=2&offset=1` });
    expect(body.total).toBe(3);
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(["page 2", "page 1"]);
    for (const [query, param] of [
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["offset=-1", "offset"],
      ["search=%00", "search"],
    ]) {
      const refused = await call({ path: `${PATH}?${query}` });
      expect(refused, query).toMatchObject({ status: 400, body: { error: { param } } });
    }
  });
});

describe("the connection texts of a new BI key", () => {
  it("have the address that the client called, and say why there is no port", async () => {
    const { key, connections } = await issued();
    expect(connections).toMatchObject({
      ...{ uri: null, psql: null, jdbc: null, dotnet: null, sqlalchemy: null, odbc: null },
      ...{ fields: null, reason: expect.stringContaining("BIKEY_PG_PROXY_ENABLED=1") },
      http: `curl -H "Authorization: Bearer ${key}" "${gateway.url}/v1/data"`,
    });
  });
});

describe("who manages BI keys", () => {
  const calls = (id: string): readonly HttpCall[] => [
    { path: PATH },
    { path: `${PATH}/${id}` },
    { method: "POST", path: PATH, body: { name: "mine now" } },
    { method: "PATCH", path: `${PATH}/${id}`, body: { name: "mine now" } },
    { method: "POST", path: `${PATH}/${id}/rotate` },
    { method: "DELETE", path: `${PATH}/${id}` },
  ];

  it("is an administrator, also by a key that nothing restricts", async () => {
    const { id } = await issued();
    const statuses = [];
    for (const request of calls(id)) {
      const { status, body } = await call({ ...request, token: TEST_KEY });
      if (body.key !== undefined) secrets.add(body.key);
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 200, 201, 200, 200, 200]);
  });

  it("is no user, and no restricted key of an administrator; not even a wrong body is read", async () => {
    const { id } = await issued();
    const { key: limited } = await issueKey(gateway, { rpm_limit: 1_000 });
    const users = await call({
      method: "POST",
      path: "/v1/api-keys",
      token: user,
      body: { name: "the user's" },
    });
    expect(users.status).toBe(201);
    for (const token of [user, users.body.key, limited]) {
      secrets.add(token);
      for (const request of [...calls(id), { method: "POST", path: PATH, body: "{" }]) {
        const refused = await call({ ...request, token });
        expect(refused, JSON.stringify(request)).toMatchObject({
          status: 403,
          body: { error: { code: "insufficient_permission", type: "permission_error" } },
        });
      }
    }
    expect((await call({ path: `${PATH}/${id}` })).body.name).toBe("a report");
  });

  it("finds no key of an unknown id", async () => {
    for (const request of [
      { path: UNKNOWN },
      { method: "PATCH", path: UNKNOWN, body: { name: "x" } },
      { method: "POST", path: `${UNKNOWN}/rotate` },
      { method: "DELETE", path: UNKNOWN },
      { path: `${PATH}/${encodeURIComponent("' or 1=1 --")}` },
    ]) {
      const refused = await call(request);
      expect(refused).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    }
  });
});

describe("a wrong body for a BI key", () => {
  const past = new Date(Date.now() - 1_000).toISOString();
  const wrong: readonly (readonly [what: string, body: unknown, param: string])[] = [
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a long name", { name: "n".repeat(201) }, "name"],
    ["a name with NUL", { name: "a\u0000b" }, "name"],
    ["a name of half a character", { name: "\ud83d" }, "name"],
    ["a dataset in upper case", { name: "n", datasets: ["Orders"] }, "datasets[0]"],
    ["a dataset that is no name", { name: "n", datasets: ["a", "b; drop"] }, "datasets[1]"],
    ["a long dataset", { name: "n", datasets: [`a${"b".repeat(63)}`] }, "datasets[0]"],
    ["all datasets and one more", { name: "n", datasets: ["*", "a"] }, "datasets"],
    ["all datasets twice", { name: "n", datasets: ["*", "*"] }, "datasets"],
    ["datasets by a pattern", { name: "n", datasets: ["a*"] }, "datasets[0]"],
    ["no rows", { name: "n", row_limit: 0 }, "row_limit"],
    ["half a row", { name: "n", row_limit: 1.5 }, "row_limit"],
    ["rows without end", { name: "n", row_limit: null }, "row_limit"],
    ["no time", { name: "n", timeout_seconds: 0 }, "timeout_seconds"],
    ["more than ten minutes", { name: "n", timeout_seconds: 601 }, "timeout_seconds"],
    ["no connection", { name: "n", max_connections: 0 }, "max_connections"],
    ["a thousand connections and one", { name: "n", max_connections: 1_001 }, "max_connections"],
    ["connections as a text", { name: "n", max_connections: "10" }, "max_connections"],
    ["a dataset twice", { name: "n", datasets: ["a", "b", "a"] }, "datasets"],
    [
      "too many datasets",
      { name: "n", datasets: Array.from({ length: 101 }, (_, index) => `d${index}`) },
      "datasets",
    ],
    ["a host for an address", { name: "n", ip_allow: ["localhost"] }, "ip_allow[0]"],
    ["a range that is none", { name: "n", ip_allow: ["10.0.0.0/33"] }, "ip_allow[0]"],
    ["an expiry that is over", { name: "n", expires_at: past }, "expires_at"],
    ["an expiry of another form", { name: "n", expires_at: "tomorrow" }, "expires_at"],
    ["a day that is none", { name: "n", expires_at: "2030-02-30T00:00:00Z" }, "expires_at"],
    ["a year beyond years", { name: "n", expires_at: "9999-12-31T23:59:59-01:00" }, "expires_at"],
    ...["id", "owner_id", "ownerId", "key", "key_hash", "last_four", "last_used_at", "state"].map(
      (field) => [`the server's ${field}`, { name: "n", [field]: "x" }, field] as const,
    ),
  ];

  it.each(wrong)("is refused for %s, by name", async (_, body, param) => {
    const refused = await create(body);
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error", param } },
    });
  });

  it("changes nothing of a key", async () => {
    const before = await issued();
    const path = `${PATH}/${before.id}`;
    for (const [body, param] of [
      [{ name: "x", state: "revoked" }, "state"],
      [{ name: "x", owner_id: "usr_1" }, "owner_id"],
      [{ name: null }, "name"],
      [{ name: "x", datasets: null }, "datasets"],
      [{ name: "x", expires_at: past }, "expires_at"],
    ] as const) {
      const refused = await call({ method: "PATCH", path, body });
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } });
    }
    const hostile = '{"name":"renamed","__proto__":{"state":"inactive"}}';
    expect((await call({ method: "PATCH", path, body: hostile })).status).toBeLessThan(500);
    expect((await call({ path })).body.state).toBe("active");
  });
});

describe("a BI key as a credential", () => {
  it("opens nothing but data, and is told so, whether it is one or not", async () => {
    const { key } = await issued();
    const texts = new Set<string>();
    for (const token of [key, `bk-${"0".repeat(43)}`, "bk-x"]) {
      for (const path of [
        "/v1/models",
        PATH,
        "/api/auth/me",
        "/api/admin/audit",
        "/api/datasets",
      ]) {
        for (const headers of [{ authorization: `Bearer ${token}` }, { "x-api-key": token }]) {
          const refused = await callHttp(gateway.url, { path, headers });
          expect(refused).toMatchObject({
            status: 401,
            body: { error: { type: "authentication_error", code: "invalid_api_key" } },
          });
          expect(refused.headers.get("www-authenticate")).toBe("Bearer");
          texts.add(refused.body.error.message);
        }
      }
    }
    expect([...texts]).toEqual([
      expect.stringMatching(/^BI keys read data only, under \/v1\/data/),
    ]);
    for (const path of ["/v1/chat/completions", "/mcp"]) {
      const headers = { authorization: `Bearer ${key}` };
      const refused = await callHttp(gateway.url, { method: "POST", path, headers, body: {} });
      expect(refused).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    }
    const chat = await callHttp(gateway.url, {
      method: "POST",
      path: "/v1/messages",
      headers: { "x-api-key": key },
      body: {},
    });
    expect(chat).toMatchObject({
      status: 401,
      body: { type: "error", error: { type: "authentication_error" } },
    });
  });

  it("does not stand in the way of an API key beside it", async () => {
    const headers = { authorization: `Bearer bk-${"0".repeat(43)}`, "x-api-key": TEST_KEY };
    expect((await callHttp(gateway.url, { path: PATH, headers })).status).toBe(200);
  });

  it("is in nothing that the server has written", () => {
    for (const secret of secrets) expect(gateway.output()).not.toContain(secret);
  });
});
