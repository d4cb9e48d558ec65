import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type App, createApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import {
  SERVICE_SCOPES,
  type ServiceScope,
  scopeFor,
} from "../../src/core/callers/service-scope.ts";
import { buildDeps, type Deps } from "../../src/deps.ts";
import { randomBase62 } from "../../src/lib/id.ts";
import { createLog } from "../../src/lib/log.ts";
import { databaseServerUrl } from "../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../support/servers/databases/test-database.ts";
import { startSimulator, type TestSimulator } from "../support/servers/start-simulator.ts";

/** Who may call, by the specification: section 5, and the decisions on authentication. */
type Level =
  | "open"
  | "caller"
  | "person"
  | "data"
  | "pending-session"
  | "session"
  | "administrator";
const LEVELS: readonly (readonly [RegExp, Level])[] = [
  [/^\w+ \/v1\/(health|docs.*|openapi\.json)$/, "open"],
  [/^\w+ \/api\/(health|ready|hello|docs)$/, "open"],
  [/^GET \/api\/openapi\.json$/, "session"],
  [/^\w+ \/api\/v1\//, "session"],
  [/^GET \/console(\/|$)/, "open"],
  // Its own token opens it, where one is set.
  [/^GET \/metrics$/, "open"],
  [/^POST \/api\/auth\/login$/, "open"],
  [/^GET \/api\/auth\/(methods|oidc\/(login|callback|link))$/, "open"],
  [/^(POST \/api\/auth\/oidc\/link|(GET|DELETE) \/api\/auth\/identities)$/, "session"],
  [/^\w+ \/api\/auth\/(logout|password|me)$/, "pending-session"],
  [/^\w+ \/api\/chats(\/|$)/, "session"],
  [/^GET \/api\/(license|status|models\/figures)$/, "session"],
  [/^POST \/api\/documents\/text$/, "session"],
  [/^\w+ \/api\/tools(\/|$)/, "administrator"],
  [/^POST \/api\/license$/, "administrator"],
  [/^GET \/api\/license\/(device|details)$/, "administrator"],
  [/^GET \/api\/(usage|requests|requests\/\{id\})$/, "session"],
  [/^\w+ \/api\/usage\/reconciliation$/, "administrator"],
  [/^\w+ \/api\/(admin|connections|mcp-servers|service-tokens)(\/|$)/, "administrator"],
  // Beside the webhook's own credentials, which only a workflow with one knows.
  [/^POST \/api\/pipeline\/webhook\/\{id\}$/, "caller"],
  [/^\w+ \/api\/datasets(\/|$)/, "person"],
  [/^\w+ \/api\/pipeline\//, "person"],
  [/^\w+ \/v1\/data(\/|$)/, "data"],
  [/^\w+ \/v1\//, "caller"],
  [/^POST \/mcp$/, "caller"],
];
/** Of the paths that take a key those where a user who is no administrator is refused. */
const ADMINISTRATORS_ONLY = /^(\/api)?\/v1\/bi-keys/;

const ADMIN_PASSWORD = "the administrator's own password";
const USER_PASSWORD = "a password of the user's own";
const ADMIN_KEY = "sk-administrator-0123456789abcdefghijklmnop";

interface Route {
  readonly method: string;
  /** With its parameters filled in, by ids of somebody else's. */
  readonly path: string;
  readonly level: Level;
  /** What a service token needs for it; undefined where none may call. */
  readonly scope: ServiceScope | undefined;
}

interface Credential {
  readonly name: string;
  readonly headers: () => Readonly<Record<string, string>>;
}

interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

const INVALID_KEY: Refusal = {
  status: 401,
  type: "authentication_error",
  code: "invalid_api_key",
};
const SESSION_MISSING: Refusal = { ...INVALID_KEY, code: "session_required" };
const SESSION_OVER: Refusal = { ...INVALID_KEY, code: "session_expired" };
const NOT_PERMITTED: Refusal = {
  status: 403,
  type: "permission_error",
  code: "insufficient_permission",
};
const PASSWORD_FIRST: Refusal = { ...NOT_PERMITTED, code: "password_change_required" };
const NOT_FOUND: Refusal = { status: 404, type: "invalid_request_error", code: "not_found" };

let dataDir: string;
let simulator: TestSimulator;
let store: Awaited<ReturnType<typeof createMigratedDatabase>> | undefined;
let deps: Deps;
let app: App;
let routes: readonly Route[];
const lines: string[] = [];
/** Every credential that is used: none may show in the log. */
const secrets = new Set<string>();
const held: Record<string, string> = {};
/** What belongs to the administrator, and not to the user. */
const foreign = { key: "", biKey: "", user: "", assistant: "" };

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "every-route-"));
  simulator = await startSimulator({
    models: [{ name: "first", contextLength: 8_192, capabilities: ["completion"] }],
  });
  store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  const { settings } = loadConfig({
    DATA_DIR: dataDir,
    ADMIN_PASSWORD,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    METRICS_ENABLED: "1",
    // Hundreds of unknown credentials look into the database at once.
    DB_POOL_WAIT_MS: "10000",
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ...(store !== undefined && { DATABASE_URL: store.url }),
  });
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  deps = await buildDeps(settings, log);
  app = createApp(deps);
  await issueCredentials();
  routes = servedRoutes();
});

afterAll(async () => {
  await deps.close(1_000);
  await simulator.stop();
  await store?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

function call(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Response> {
  const request = new Request(`http://gateway${path}`, {
    method,
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const connection = {
    host: "gateway",
    path: path.split("?")[0] ?? path,
    peer: () => "127.0.0.1",
    allowSilence: () => () => undefined,
  };
  return Promise.resolve(app.fetch(request, connection));
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

async function ask<Answer>(
  method: string,
  path: string,
  credential: string,
  body?: unknown,
): Promise<Answer> {
  const response = await call(method, path, bearer(credential), body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? {} : JSON.parse(text)) as Answer;
}

async function login(username: string, password: string): Promise<string> {
  const response = await call("POST", "/api/auth/login", {}, { username, password });
  const { token } = (await response.json()) as { token: string };
  return keep(token);
}

function keep(secret: string): string {
  secrets.add(secret);
  return secret;
}

interface Issued {
  readonly id: string;
  readonly key: string;
}

/** A user with an own password, logged in. */
async function createUser(
  admin: string,
  username: string,
  role = "user",
): Promise<{ id: string; token: string }> {
  const password = keep(`first password of ${username}`);
  const { id } = await ask<{ id: string }>("POST", "/api/admin/users", admin, {
    username,
    password,
    role,
  });
  const first = await login(username, password);
  const changed = await ask<{ token: string }>("POST", "/api/auth/password", first, {
    current_password: password,
    new_password: keep(`${USER_PASSWORD} ${username}`),
  });
  return { id, token: keep(changed.token) };
}

async function issueKey(credential: string, more: Readonly<Record<string, unknown>> = {}) {
  const issued = await ask<Issued>("POST", "/v1/api-keys", credential, { name: "a key", ...more });
  keep(issued.key);
  return issued;
}

async function issueCredentials(): Promise<void> {
  for (const secret of [ADMIN_KEY, ADMIN_PASSWORD]) keep(secret);
  const admin = await login("admin", ADMIN_PASSWORD);
  const user = await createUser(admin, "user");
  held["user session"] = user.token;
  held["user key"] = (await issueKey(user.token)).key;

  const revoked = await issueKey(user.token);
  await ask("DELETE", `/v1/api-keys/${revoked.id}`, user.token);
  held["revoked key"] = revoked.key;
  const inactive = await issueKey(user.token);
  await ask("PATCH", `/v1/api-keys/${inactive.id}`, user.token, { state: "inactive" });
  held["inactive key"] = inactive.key;
  const soon = new Date(deps.clock.now() + 1_000).toISOString();
  held["expired key"] = (await issueKey(user.token, { expires_at: soon })).key;
  held["key from elsewhere"] = (await issueKey(user.token, { ip_allow: ["192.0.2.0/24"] })).key;
  const biKey = await issueBiKeys(admin);

  const pending = { username: "pending", password: keep("a password somebody else has set") };
  await ask("POST", "/api/admin/users", admin, pending);
  held["pending session"] = await login(pending.username, pending.password);

  const disabled = await createUser(admin, "disabled");
  held["disabled user's key"] = (await issueKey(disabled.token)).key;
  held["disabled user's session"] = disabled.token;
  await ask("PATCH", `/api/admin/users/${disabled.id}`, admin, { state: "disabled" });
  const deleted = await createUser(admin, "deleted");
  held["deleted user's key"] = (await issueKey(deleted.token)).key;
  held["deleted user's session"] = deleted.token;
  await ask("DELETE", `/api/admin/users/${deleted.id}`, admin);

  const over = await login("user", `${USER_PASSWORD} user`);
  await ask("POST", "/api/auth/logout", over);
  held["session after logout"] = over;

  await issueServiceTokens(admin);
  foreign.key = (await issueKey(admin)).id;
  foreign.biKey = biKey.id;
  foreign.assistant = (await ask<{ id: string }>("POST", "/v1/assistants", admin, {})).id;
  foreign.user = (await ask<{ id: string }>("GET", "/api/auth/me", admin)).id;
  held["wrong key"] = keep(`sk-${randomBase62(43)}`);
  held["key of quotes"] = keep("sk-'OR'1'='1';drop/**/table/**/users;--");
  held["wrong session"] = keep(`ses_${randomBase62(43)}`);
  // Until the key that is to expire has.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
}

/** One that works, and one of each kind that opens nothing. */
async function issueBiKeys(admin: string): Promise<Issued> {
  const issue = async (name: string, more: Readonly<Record<string, unknown>> = {}, by = admin) => {
    const issued = await ask<Issued>("POST", "/v1/bi-keys", by, { name, ...more });
    held[name] = keep(issued.key);
    return issued;
  };
  const soon = new Date(deps.clock.now() + 1_000).toISOString();
  await issue("expired BI key", { expires_at: soon });
  await issue("BI key from elsewhere", { ip_allow: ["192.0.2.0/24"] });
  const inactive = await issue("inactive BI key");
  await ask("PATCH", `/v1/bi-keys/${inactive.id}`, admin, { state: "inactive" });
  const deleted = await issue("deleted BI key");
  await ask("DELETE", `/v1/bi-keys/${deleted.id}`, admin);
  for (const [name, change] of [
    ["disabled", { state: "disabled" }],
    ["former", { role: "user" }],
  ] as const) {
    const owner = await createUser(admin, `${name}-reader`, "admin");
    await issue(`${name} administrator's BI key`, {}, owner.token);
    await ask("PATCH", `/api/admin/users/${owner.id}`, admin, change);
  }
  held["wrong BI key"] = keep(`bk-${randomBase62(43)}`);
  return issue("BI key");
}

async function issueToken(session: string, more: Readonly<Record<string, unknown>>) {
  const body = { name: "a token", scopes: SERVICE_SCOPES, ...more };
  const issued = await ask<Issued & { token: string }>(
    "POST",
    "/api/service-tokens",
    session,
    body,
  );
  keep(issued.token);
  return issued;
}

async function issueServiceTokens(admin: string): Promise<void> {
  for (const scope of SERVICE_SCOPES) {
    held[scope] = (await issueToken(admin, { scopes: [scope] })).token;
  }
  const deleted = await issueToken(admin, {});
  await ask("DELETE", `/api/service-tokens/${deleted.id}`, admin);
  held["deleted service token"] = deleted.token;
  const rotated = await issueToken(admin, {});
  await ask("POST", `/api/service-tokens/${rotated.id}/rotate`, admin);
  held["rotated service token"] = rotated.token;
  const soon = new Date(deps.clock.now() + 1_000).toISOString();
  held["expired service token"] = (await issueToken(admin, { expires_at: soon })).token;
  held["service token from elsewhere"] = (
    await issueToken(admin, { ip_allow: ["192.0.2.0/24"] })
  ).token;
  for (const [name, change] of [
    ["disabled", { state: "disabled" }],
    ["former", { role: "user" }],
  ] as const) {
    const maker = await createUser(admin, `${name}-administrator`, "admin");
    held[`${name} administrator's service token`] = (await issueToken(maker.token, {})).token;
    await ask("PATCH", `/api/admin/users/${maker.id}`, admin, change);
  }
  held["wrong service token"] = keep(`sv-${randomBase62(43)}`);
}

function servedRoutes(): readonly Route[] {
  return app.routes
    .map(({ method, path, tokens }) => ({ method: method.toUpperCase(), pattern: path, tokens }))
    .map(({ method, pattern, tokens = "closed" }) => {
      const scope = tokens === "closed" ? undefined : scopeFor(tokens, method);
      const path = pattern
        .replace("{model}", "first")
        .replace(/^((?:\/api)?\/v1\/bi-keys\/)\{\w+\}/, `$1${foreign.biKey}`)
        .replace(/^(\/api\/admin\/users\/)\{\w+\}/, `$1${foreign.user}`)
        .replace(/^((?:\/api)?\/v1\/api-keys\/)\{\w+\}/, `$1${foreign.key}`)
        .replace(/^((?:\/api)?\/v1\/assistants\/)\{\w+\}/, `$1${foreign.assistant}`)
        .replaceAll(/\{\w+\}/g, "id_of_nothing");
      const level = LEVELS.find(([known]) => known.test(`${method} ${pattern}`))?.[1];
      if (level === undefined) throw new Error(`who may call ${method} ${pattern}?`);
      return { method, path, level, scope };
    });
}

const named = (name: string): Credential => ({
  name,
  headers: () => bearer(held[name] ?? ""),
});

const NOBODY: readonly Credential[] = [
  { name: "no credential", headers: () => ({}) },
  { name: "an empty one", headers: () => ({ authorization: "Bearer " }) },
  { name: "another scheme", headers: () => ({ authorization: `Basic ${held["user key"]}` }) },
  { name: "10 kB", headers: () => bearer(`sk-${"a".repeat(10_000)}`) },
  { name: "a session of 10 kB", headers: () => bearer(`ses_${"a".repeat(10_000)}`) },
];
const KEYS_THAT_ARE_NONE = [
  "wrong key",
  "key of quotes",
  "revoked key",
  "inactive key",
  "expired key",
  "disabled user's key",
  "deleted user's key",
  "wrong service token",
  "deleted service token",
  "rotated service token",
  "expired service token",
  "disabled administrator's service token",
  "former administrator's service token",
].map(named);
const BI_KEYS_THAT_ARE_NONE = [
  "wrong BI key",
  "inactive BI key",
  "expired BI key",
  "deleted BI key",
  "disabled administrator's BI key",
  "former administrator's BI key",
].map(named);
const SESSIONS_THAT_ARE_NONE = [
  "wrong session",
  "session after logout",
  "disabled user's session",
  "deleted user's session",
].map(named);

/** What each credential is to get on a route of each level; undefined: it may call. */
function expected(level: Level, credential: Credential): Refusal | undefined {
  const { name } = credential;
  if (level === "open") return undefined;
  const isForKeys = level === "caller" || level === "data";
  if (NOBODY.includes(credential)) return isForKeys ? INVALID_KEY : SESSION_MISSING;
  // Where no data is read, a BI key is none, whatever its state is.
  if (name.includes("BI key") && level !== "data") return INVALID_KEY;
  if (name === "BI key") return undefined;
  if (BI_KEYS_THAT_ARE_NONE.includes(credential)) return INVALID_KEY;
  if (KEYS_THAT_ARE_NONE.includes(credential)) return INVALID_KEY;
  if (SESSIONS_THAT_ARE_NONE.includes(credential)) return SESSION_OVER;
  if (name.endsWith("from elsewhere")) return { ...NOT_PERMITTED, code: "ip_denied" };
  if (name === "pending session") return level === "pending-session" ? undefined : PASSWORD_FIRST;
  throw new Error(`what is ${name} to get?`);
}

/** One comparison for all of it, because thousands of answers are looked at. */
async function expectRefusal(route: Route, response: Response, refusal: Refusal): Promise<void> {
  const { status, headers } = response;
  const text = await response.text();
  const isHopeless = refusal.status === 401 || refusal.status === 403;
  expect({
    status,
    type: headers.get("content-type"),
    id: headers.get("x-request-id"),
    challenge: headers.get("www-authenticate"),
    shouldRetry: headers.get("x-should-retry"),
    body: JSON.parse(text),
    secrets: [...secrets].filter((secret) => text.includes(secret)),
  }).toEqual({
    status: refusal.status,
    type: expect.stringMatching(/^application\/json/),
    id: expect.stringMatching(/^req_/),
    challenge: refusal.status === 401 ? "Bearer" : null,
    shouldRetry: isHopeless ? "false" : null,
    body: refusalBody(route, refusal, headers.get("request-id")),
    secrets: [],
  });
  if (headers.has("request-id"))
    expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
}

/** What a refusal says in the form of the route's family. */
function refusalBody({ path }: Route, refusal: Refusal, requestId: string | null) {
  const message = expect.any(String);
  if (/^(\/api)?\/v1\/messages/.test(path)) {
    const type = refusal.status === 404 ? "not_found_error" : refusal.type;
    const error = expect.objectContaining({ type, message });
    return { type: "error", error, request_id: requestId };
  }
  const param = expect.toBeOneOf([null, expect.any(String)]);
  return { error: { type: refusal.type, code: refusal.code, message, param } };
}

const allCredentials = () => [
  ...NOBODY,
  ...KEYS_THAT_ARE_NONE,
  named("BI key"),
  ...BI_KEYS_THAT_ARE_NONE,
  named("BI key from elsewhere"),
  ...SESSIONS_THAT_ARE_NONE,
  named("key from elsewhere"),
  named("service token from elsewhere"),
  named("pending session"),
];

describe("every route that is served", () => {
  it("has its place in the table of who may call", () => {
    expect(routes.length).toBeGreaterThan(30);
    for (const level of [
      ...["open", "caller", "person", "pending-session", "session", "administrator"],
    ]) {
      expect(routes.filter((route) => route.level === level).length).toBeGreaterThan(0);
    }
  });

  it("stands in the document of its callers: pages and the scraper's figures aside", () => {
    const unlisted = app.routes.filter(({ audience }) => audience === "unlisted");
    expect(unlisted.map(({ path }) => path).sort()).toEqual([
      "/api/auth/oidc/callback",
      "/api/auth/oidc/link",
      "/api/auth/oidc/login",
      "/api/docs",
      "/api/openapi.json",
      "/console",
      "/console/",
      "/console/assets/{rest}",
      "/console/build.json",
      "/console/{rest}",
      "/metrics",
      "/v1/docs",
      "/v1/docs/swagger-ui-bundle.js",
      "/v1/docs/swagger-ui.css",
      "/v1/openapi.json",
    ]);
    for (const { audience, path } of app.routes) {
      if (audience !== "unlisted") {
        const isPublic = path.startsWith("/v1/") || path === "/mcp";
        expect([path, audience]).toEqual([path, isPublic ? "public" : "console"]);
      }
    }
  });

  it("refuses each credential that is none, in its family's form, before it reads a body", async () => {
    const refuses = async (route: Route, credential: Credential): Promise<void> => {
      const refusal = expected(route.level, credential);
      if (refusal === undefined) return;
      const response = await call(route.method, route.path, credential.headers());
      await expectRefusal(route, response, refusal).catch((thrown: unknown) => {
        throw new Error(`${route.method} ${route.path} with ${credential.name}`, { cause: thrown });
      });
    };
    // Unknown credentials wait for a look at the database, which those of one route share.
    for (const route of routes) {
      await Promise.all(allCredentials().map((credential) => refuses(route, credential)));
    }
  }, 600_000);

  // Before the walks of the routes that change keys.
  it("takes a BI key where data is read", async () => {
    for (const { method, path } of routes.filter(({ level }) => level === "data")) {
      const { status } = await call(method, path, bearer(held["BI key"] ?? ""), bodyFor(method));
      expect([401, 403], `${method} ${path}`).not.toContain(status);
    }
  });

  it("that is open asks for nothing", async () => {
    for (const route of routes.filter(({ level }) => level === "open")) {
      const response = await call(route.method, route.path, bearer(held["wrong key"] ?? ""));
      expect([route.path, response.status]).not.toEqual([route.path, 401]);
      expect([route.path, response.status]).not.toEqual([route.path, 403]);
    }
  });

  it("takes an API key under /v1 aside from data, /api/pipeline and at /mcp alone, and says so", async () => {
    const withoutKeys = ["data", "pending-session", "session", "administrator"];
    for (const route of routes.filter(({ level }) => withoutKeys.includes(level))) {
      const response = await call(route.method, route.path, bearer(held["user key"] ?? ""));
      await expectRefusal(route, response, NOT_PERMITTED);
    }
  });

  it("under /api says which service tokens may call it, and under /v1 only those of keys let any", () => {
    for (const { method, path, access, tokens } of app.routes) {
      const where = `${method} ${path}`;
      if (path.startsWith("/api/") && access !== "open") {
        expect([where, tokens]).toEqual([where, expect.any(String)]);
      }
      const mayCall = tokens !== undefined && tokens !== "closed";
      if (mayCall && !path.startsWith("/api/")) expect(path).toMatch(/^\/v1\/(api|bi)-keys/);
    }
    const used = new Set(routes.map(({ scope }) => scope));
    used.delete(undefined);
    expect([...used].sort()).toEqual([...SERVICE_SCOPES]);
  });

  it("opens to a service token with its scope, and names the scope that another one lacks", async () => {
    for (const route of routes.filter(({ level }) => level !== "open")) {
      for (const scope of SERVICE_SCOPES) {
        const { method, path } = route;
        const response = await call(method, path, bearer(held[scope] ?? ""), bodyFor(method));
        const { status } = response;
        const text = await response.clone().text();
        if (route.scope === scope) {
          expect([method, path, status]).not.toEqual([method, path, 401]);
          expect([path, text]).toEqual([
            path,
            expect.not.stringMatching(/lacks the scope|No service token/),
          ]);
          continue;
        }
        await expectRefusal(route, response, NOT_PERMITTED);
        expect(text).toContain(route.scope ?? "No service token may do this");
      }
    }
  }, 600_000);

  it("takes a cookie outside /v1 and /mcp alone", async () => {
    const cookie = { cookie: `gateway_session=${held["user session"]}` };
    const isClosed = /^\/(?:v1|mcp)(?:\/|$)/;
    const closed = routes.filter(({ level, path }) => level !== "open" && isClosed.test(path));
    expect(new Set(closed.map(({ level }) => level))).toEqual(new Set(["caller", "data"]));
    for (const route of closed) {
      await expectRefusal(route, await call(route.method, route.path, cookie), INVALID_KEY);
    }
    expect((await call("GET", "/api/auth/me", cookie)).status).toBe(200);
  });

  it("under /v1 that asks who calls is there for a session below /api/v1, with the same properties", async () => {
    const shown = ({
      method,
      channel,
      modelCall,
      encodedSlashes,
      operationId,
    }: (typeof app.routes)[number]) => ({
      ...{ method, channel, modelCall, encodedSlashes, operationId },
    });
    const below = app.routes.filter(
      ({ path, access }) => path.startsWith("/v1/") && access !== "open",
    );
    expect(below.length).toBeGreaterThan(40);
    for (const route of below) {
      const { method, path } = route;
      const mounted = app.routes.find((one) => one.path === `/api${path}` && one.method === method);
      expect([path, mounted?.access, mounted?.tokens]).toEqual([path, "session", "closed"]);
      expect(mounted && shown(mounted)).toEqual(shown(route));
    }
    const cookie = { cookie: `gateway_session=${held["user session"]}` };
    const lists = ["models", "api-keys", "assistants", "files", "vector_stores", "tools", "data"];
    for (const name of lists) {
      const byCookie = await call("GET", `/api/v1/${name}`, cookie);
      expect([name, byCookie.status]).toEqual([name, 200]);
      const byHeader = await call("GET", `/v1/${name}`, bearer(held["user session"] ?? ""));
      expect(await byCookie.text()).toBe(await byHeader.text());
    }
  });

  it("takes no key from the query", async () => {
    for (const route of routes.filter(({ level }) => level === "caller" || level === "data")) {
      for (const name of ["key", "api_key", "access_token", "token"]) {
        const key = held[route.level === "data" ? "BI key" : "user key"];
        const path = `${route.path}?${name}=${key}`;
        await expectRefusal(route, await call(route.method, path, {}), INVALID_KEY);
      }
    }
  });

  it("of administrators refuses a user", async () => {
    for (const route of routes) {
      const isTheirs = route.level === "administrator" || ADMINISTRATORS_ONLY.test(route.path);
      if (!isTheirs) continue;
      const { method, path } = route;
      await expectRefusal(
        route,
        await call(method, path, bearer(held["user session"] ?? ""), bodyFor(method)),
        NOT_PERMITTED,
      );
    }
  });

  it("shows and changes nothing of another user's, and does not tell that it is there", async () => {
    const isTheirs = ({ path }: Route) =>
      path.includes(foreign.key) || path.includes(foreign.assistant);
    const theirs = routes.filter(isTheirs);
    expect(theirs.length).toBeGreaterThanOrEqual(8);
    for (const route of theirs) {
      const isForKeys = route.level === "caller";
      for (const name of isForKeys ? ["user session", "user key"] : ["user session"]) {
        const { method, path } = route;
        const headers = bearer(held[name] ?? "");
        const response = await call(method, path, headers, bodyFor(method));
        const unknown = path
          .replace(foreign.key, "key_0000000000000000000000")
          .replace(foreign.assistant, "asst_0000000000000000000000");
        const other = await call(method, unknown, headers, bodyFor(method));
        expect(await other.clone().text()).toBe(await response.clone().text());
        await expectRefusal(route, response, NOT_FOUND);
      }
    }
  });

  it("answers nothing with a fault of ours, and no line of the log has a secret", () => {
    expect(lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
    const log = lines.join("");
    for (const secret of secrets) expect(log).not.toContain(secret);
  });
});

function bodyFor(method: string): unknown {
  if (method === "PATCH") return { name: "taken over" };
  return method === "POST" ? {} : undefined;
}
