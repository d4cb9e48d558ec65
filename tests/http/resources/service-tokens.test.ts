import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { checkBackup } from "../../../src/operations/backup/check-backup.ts";
import { callHttp, type HttpAnswer, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });
const PASSWORD = "the administrator's own password";
/** Another replica looks for changes twice a second; the rest is for a busy machine. */
const POLLED_MS = 10_000;

let replicas: Replicas | undefined;
let here: TestGateway;
let admin: string;
const people: Record<string, string> = {};

beforeAll(async () => {
  const environment = { ADMIN_PASSWORD: PASSWORD, LICENSE_RECHECK_INTERVAL_SEC: "3600" };
  if (databaseServerUrl !== undefined) replicas = await startReplicas({ count: 2, environment });
  here = replicas?.gateways[0] ?? (await startGateway(environment));
  admin = await logIn(here.url, "admin", PASSWORD);
  people["admin"] = (await call("GET", "/api/auth/me")).body.id;
  people["ada"] = (await call("POST", "/api/admin/users", { username: "ada" })).body.id;
});
afterAll(async () => {
  if (replicas === undefined) await here.stop();
  else await replicas.finish();
});

const call = (method: string, path: string, body?: unknown, token = admin): Promise<HttpAnswer> =>
  callHttp(here.url, { method, path, token, ...(body !== undefined && { body }) });

async function issue(scopes: readonly string[], more: object = {}) {
  const made = await call("POST", "/api/service-tokens", { name: "a program", scopes, ...more });
  expect(made.status).toBe(201);
  return made.body as { readonly id: string; readonly token: string };
}

/** The session of a user, whose password an administrator sets and the user changes. */
async function addSession(username: string, id: string): Promise<string> {
  await call("PATCH", `/api/admin/users/${id}`, { password: PASSWORD });
  const passwords = { current_password: PASSWORD, new_password: `${PASSWORD} of ${username}` };
  const first = await logIn(here.url, username, PASSWORD);
  return (await call("POST", "/api/auth/password", passwords, first)).body.token;
}

/** The id of a new workflow of the caller. */
async function saveWorkflow(by: string): Promise<string> {
  const steps = [{ id: "load", kind: "rows", rows: [{ n: 1 }] }];
  const saved = await call("POST", "/api/pipeline/workflows", { name: "rows", steps }, by);
  expect(saved.status).toBe(201);
  return saved.body.id;
}

async function statesOf(keys: readonly { readonly id: string }[]): Promise<readonly string[]> {
  const found = keys.map(({ id }) => call("GET", `/v1/api-keys/${id}`));
  return (await Promise.all(found)).map(({ body }) => body.state);
}

const refusal = ({ status, body }: HttpAnswer) => [status, body.error.code, body.error.param];
const DENIED = (param: string | null = null) => [403, "insufficient_permission", param];

describe("a service token", () => {
  it("shows its secret once, and its use later", async () => {
    const { id, token } = await issue(["usage:read"], { ip_allow: ["127.0.0.0/8"] });
    expect(token).toMatch(/^sv-[A-Za-z0-9]{43}$/);
    const found = await call("GET", `/api/service-tokens/${id}`);
    expect(found.body).toMatchObject({
      name: "a program",
      scopes: ["usage:read"],
      ip_allow: ["127.0.0.0/8"],
      last_four: token.slice(-4),
      created_by: people["admin"],
      last_used_at: null,
    });
    const listed = await call("GET", "/api/service-tokens?search=program&limit=5");
    for (const { text } of [found, listed]) expect(text).not.toContain(token);
    expect((await call("GET", "/api/usage", undefined, token)).status).toBe(200);
    const lacking = await call("GET", "/api/admin/audit", undefined, token);
    expect(lacking.body.error.message).toContain("lacks the scope audit:read");
    const more = await call("PATCH", `/api/service-tokens/${id}`, {
      scopes: ["usage:read", "audit:read"],
    });
    expect(more.body.scopes).toEqual(["usage:read", "audit:read"]);
    expect((await call("GET", "/api/admin/audit", undefined, token)).status).toBe(200);
    const { body } = await call("POST", `/api/service-tokens/${id}/rotate`);
    expect((await call("GET", "/api/usage", undefined, token)).status).toBe(401);
    expect((await call("GET", "/api/usage", undefined, body.token)).status).toBe(200);
    const audit = await call("GET", `/api/admin/audit?target_id=${id}`);
    expect(audit.body.data.map(({ action }: { action: string }) => action)).toEqual([
      "service_token.rotate",
      "service_token.update",
      "service_token.create",
    ]);
    for (const secret of [token, body.token]) {
      expect(audit.text).not.toContain(secret);
      expect(here.output()).not.toContain(secret);
    }
  });

  it("makes a whole backup for a machine that cannot run the command, one at a time", async () => {
    const { id, token } = await issue(["backup:create"]);
    const other = await issue(["usage:read"]);
    const ask = (credential: string) =>
      fetch(`${here.url}/api/admin/backups`, {
        method: "POST",
        headers: { authorization: `Bearer ${credential}` },
      });
    expect((await ask(other.token)).status).toBe(403);
    const begun = await ask(token);
    expect([begun.status, begun.headers.get("content-type")]).toEqual([200, "application/gzip"]);
    expect(begun.headers.get("content-disposition")).toMatch(/"gateway-[\dTZ-]+\.tar\.gz"$/);
    const folder = await mkdtemp(join(tmpdir(), "backup-by-token-"));
    const file = join(folder, "backup.tar.gz");
    await writeFile(file, new Uint8Array(await begun.arrayBuffer()));
    const { tables } = await checkBackup({ file });
    await rm(folder, { recursive: true });
    expect(tables.find(({ name }) => name === "users")?.rows).toBe(2);
    const { body } = await call("GET", `/api/admin/audit?action=backup.create&limit=1`);
    expect(body.data[0]).toMatchObject({ via: "service_token", credential_id: id });
    const together = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const answer = await ask(token);
        const bytes = await answer.arrayBuffer();
        return answer.status === 200 || JSON.parse(Buffer.from(bytes).toString()).error.code;
      }),
    );
    expect(together).toContain(true);
    expect(together.filter((made) => made !== true && made !== "run_active")).toEqual([]);
    expect((await ask(token)).status).toBe(200);
  });

  it.each([
    [{ name: "none", scopes: [] }, "scopes"],
    [{ name: "unknown", scopes: ["everything"] }, "scopes[0]"],
    [{ name: "twice", scopes: ["usage:read", "usage:read"] }, "scopes"],
    [{ name: "\u0007", scopes: ["usage:read"] }, "name"],
    [{ name: "past", scopes: ["usage:read"], expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
    [{ name: "other", scopes: ["usage:read"], created_by: "usr_1" }, "created_by"],
  ])("is not made of %j", async (body, param) => {
    const { status, body: answer } = await call("POST", "/api/service-tokens", body);
    expect([status, answer.error.param]).toEqual([400, param]);
  });

  it("is the actor of what it does, in the audit log", async () => {
    const { id, token } = await issue(["users:write"]);
    const made = await call("POST", "/api/admin/users", { username: "made-by-program" }, token);
    expect(made.status).toBe(201);
    const audit = await call("GET", `/api/admin/audit?actor_id=${id}`);
    expect(audit.body.data).toMatchObject([
      {
        action: "user.create",
        via: "service_token",
        actor: { id, name: "a program" },
        credential_id: id,
        target: { id: made.body.id },
      },
    ]);
  });

  it("with users:write makes and changes no administrator", async () => {
    const { token } = await issue(["users:write"]);
    const self = `/api/admin/users/${people["admin"]}`;
    const ada = `/api/admin/users/${people["ada"]}`;
    for (const [method, path, body] of [
      ["POST", "/api/admin/users", { username: "eve", role: "admin" }],
      ["PATCH", ada, { role: "admin" }],
      ["PATCH", self, { password: "a password of the token's" }],
      ["PATCH", self, { role: "user" }],
      ["PATCH", self, { state: "disabled" }],
      ["DELETE", self, undefined],
    ] as const) {
      expect(refusal(await call(method, path, body, token))).toEqual(DENIED());
    }
    const disabled = await call("PATCH", ada, { state: "disabled" }, token);
    expect(disabled.body.state).toBe("disabled");
    expect((await call("PATCH", ada, { state: "active" }, token)).status).toBe(200);
  });

  it("with keys:write makes keys of users who are not administrators, with their rights", async () => {
    const { token } = await issue(["keys:write"]);
    const make = (more: object) =>
      call("POST", "/v1/api-keys", { name: "of a program", ...more }, token);
    const mine = { owner_id: people["ada"] };
    expect(refusal(await make({}))).toEqual(DENIED("owner_id"));
    expect(refusal(await make({ ...mine, max_level: "write" }))).toEqual(DENIED("max_level"));
    const made = await make({ ...mine, monthly_token_limit: 10 });
    expect([made.status, made.body.max_level]).toEqual([201, "read_only"]);
    const one = `/v1/api-keys/${made.body.id}`;
    expect((await call("PATCH", one, { rpm_limit: 5 }, token)).body.rpm_limit).toBe(5);
    expect(refusal(await call("PATCH", one, { max_level: "full_auto" }, token))).toEqual(
      DENIED("max_level"),
    );
    expect((await call("POST", `${one}/rotate`, undefined, token)).status).toBe(200);

    await call("PATCH", one, { max_level: "write" });
    expect(refusal(await call("POST", `${one}/rotate`, undefined, token))).toEqual(
      DENIED("max_level"),
    );
    expect((await call("PATCH", one, { rpm_limit: 4 }, token)).status).toBe(200);
    expect((await call("DELETE", one, undefined, token)).status).toBe(200);

    const owned = await call("POST", "/v1/api-keys", { name: "of an administrator" });
    const path = `/v1/api-keys/${owned.body.id}`;
    for (const [method, at] of [
      ["PATCH", path],
      ["POST", `${path}/rotate`],
      ["DELETE", path],
    ] as const) {
      const body = method === "PATCH" ? { name: "taken over" } : undefined;
      expect(refusal(await call(method, at, body, token))).toEqual(DENIED("owner_id"));
    }
    const biKey = await call("POST", "/v1/bi-keys", { name: "report" }, token);
    expect([biKey.status, biKey.body.owner_id]).toEqual([201, people["admin"]]);
    const reading = await call("GET", "/v1/api-keys", undefined, token);
    expect(reading.body.error.message).toContain("keys:read");
  });

  it("with keys:write only lowers a key that is above read_only, or that a person bound", async () => {
    const { token } = await issue(["keys:write"]);
    const mine = { name: "a key", owner_id: people["ada"] };
    const bounds = {
      rpm_limit: 5,
      monthly_token_limit: 100,
      ip_allow: ["10.0.0.0/8"],
      expires_at: "2090-01-01T00:00:00Z",
      tool_scope: { tools: ["find_*"], sql_connections: [] },
    };
    const raises = {
      rpm_limit: 6,
      monthly_token_limit: null,
      ip_allow: [],
      expires_at: null,
      tool_scope: { tools: ["*"], sql_connections: [] },
      passthrough: true,
    };
    const lowered = { ...bounds, rpm_limit: 4, monthly_token_limit: 50, ip_allow: ["10.1.0.0/16"] };
    const bound = (await call("POST", "/v1/api-keys", { ...mine, ...bounds })).body;
    const higher = (await call("POST", "/v1/api-keys", { ...mine, ...bounds }, token)).body;
    await call("PATCH", `/v1/api-keys/${higher.id}`, { max_level: "write" });
    for (const { id } of [bound, higher]) {
      for (const [param, value] of Object.entries(raises)) {
        const refused = await call("PATCH", `/v1/api-keys/${id}`, { [param]: value }, token);
        expect([param, ...refusal(refused)]).toEqual([param, ...DENIED(param)]);
      }
      expect((await call("PATCH", `/v1/api-keys/${id}`, lowered, token)).status).toBe(200);
    }
    await call("PATCH", `/v1/api-keys/${bound.id}`, { state: "inactive" });
    const active = { state: "active" };
    expect(refusal(await call("PATCH", `/v1/api-keys/${bound.id}`, active, token))).toEqual(
      DENIED("state"),
    );

    const own = (await call("POST", "/v1/api-keys", { ...mine, rpm_limit: 5 }, token)).body;
    await call("PATCH", `/v1/api-keys/${own.id}`, { name: "named by a person" });
    const raised = { rpm_limit: 50, state: "inactive" };
    expect((await call("PATCH", `/v1/api-keys/${own.id}`, raised, token)).status).toBe(200);
    const passing = { ...mine, passthrough: true };
    expect(refusal(await call("POST", "/v1/api-keys", passing, token))).toEqual(
      DENIED("passthrough"),
    );
    for (const { id } of [bound, higher, own]) await call("DELETE", `/v1/api-keys/${id}`);
  });

  it("with users:write sets no password of a user whose key may do more than read", async () => {
    const { token } = await issue(["users:write"]);
    const { id } = (await call("POST", "/api/admin/users", { username: "bob" }, token)).body;
    const setPassword = () =>
      call("PATCH", `/api/admin/users/${id}`, { password: "a password of the token's" }, token);
    expect((await setPassword()).status).toBe(200);
    const body = { name: "strong", owner_id: id, max_level: "write" };
    const key = (await call("POST", "/v1/api-keys", body)).body.id;
    expect(refusal(await setPassword())).toEqual(DENIED("password"));
    // What an administrator set, the owner may set again.
    const bob = await addSession("bob", id);
    await call("PATCH", `/v1/api-keys/${key}`, { max_level: "read_only" }, bob);
    expect(refusal(await setPassword())).toEqual(DENIED("password"));
    expect(
      (await call("PATCH", `/api/admin/users/${id}`, { state: "disabled" }, token)).status,
    ).toBe(200);
  });

  it.each([
    ["and the promotion sets no password", undefined],
    ["and the promotion sets a password", `${PASSWORD} of the promotion`],
  ])(
    "does not become an administrator with a user whose keys and password it made, %s",
    async (_, next) => {
      const { token } = await issue(["users:write", "keys:write"]);
      const name = { username: "carol" };
      const { id, password } = (await call("POST", "/api/admin/users", name, token)).body;
      const make = async (label: string, by: string, more: object = { owner_id: id }) =>
        (await call("POST", "/v1/api-keys", { ...more, name: label }, by)).body;
      const rotate = (key: { readonly id: string }, by: string) =>
        call("POST", `/v1/api-keys/${key.id}/rotate`, undefined, by);
      const made = await make("made", token);
      const rotated = await make("rotated", admin);
      await rotate(rotated, token);
      const kept = await make("kept", admin);
      const rotatedByKey = await make("rotated by a key", admin);
      const madeByKey = await make("made by a key", made.key, {});
      await rotate(rotatedByKey, madeByKey.key);
      const passwords = { current_password: password, new_password: PASSWORD };
      const first = await logIn(here.url, "carol", password);
      const session = (await call("POST", "/api/auth/password", passwords, first)).body.token;
      const madeBySession = await make("made by a session", session, {});
      const workflow = await saveWorkflow(made.key);
      const change = { role: "admin", ...(next !== undefined && { password: next }) };
      const promoted = await call("PATCH", `/api/admin/users/${id}`, change);
      expect(promoted.body.role).toBe("admin");
      expect((await call("GET", "/api/auth/me", undefined, session)).status).toBe(401);
      expect(await statesOf([made, rotated, madeByKey, rotatedByKey, madeBySession, kept])).toEqual(
        [...Array.from({ length: 5 }, () => "inactive"), "active"],
      );
      expect((await call("GET", "/v1/api-keys", undefined, madeByKey.key)).status).toBe(401);
      expect((await call("GET", "/v1/api-keys", undefined, kept.key)).status).toBe(200);
      expect((await call("GET", `/api/pipeline/workflows/${workflow}`)).body.enabled).toBe(false);
      const logInWith = async (text: string) => {
        const body = { ...name, password: text };
        return (await callHttp(here.url, { method: "POST", path: "/api/auth/login", body })).status;
      };
      expect(await logInWith(PASSWORD)).toBe(401);
      if (next !== undefined) expect(await logInWith(next)).toBe(200);
      const audit = await call("GET", `/api/admin/audit?action=user.update&target_id=${id}`);
      const { details } = audit.body.data[0];
      expect([details.deactivated_keys.length, details.disabled_workflows]).toEqual([
        5,
        [workflow],
      ]);
      expect([details.password, details.ended_sessions]).toEqual(
        next === undefined ? ["void", 1] : [undefined, undefined],
      );
      // An administrator's password stays, also through a later promotion.
      await call("PATCH", `/api/admin/users/${id}`, { role: "user", password: PASSWORD });
      await call("PATCH", `/api/admin/users/${id}`, { role: "admin" });
      expect(await logInWith(PASSWORD)).toBe(200);
      await call("DELETE", `/api/admin/users/${id}`);
    },
  );

  it("leaves a new administrator what the user had before it", async () => {
    const { token } = await issue(["keys:write"]);
    const { id } = (await call("POST", "/api/admin/users", { username: "dan" })).body;
    const session = await addSession("dan", id);
    const before = (await call("POST", "/v1/api-keys", { name: "before" }, session)).body;
    const workflow = await saveWorkflow(session);
    const asked = { name: "made", owner_id: id };
    const gone = (await call("POST", "/v1/api-keys", asked, token)).body;
    // A key that is deleted may have made others.
    const madeByKey = (await call("POST", "/v1/api-keys", { name: "later" }, gone.key)).body;
    await call("DELETE", `/v1/api-keys/${gone.id}`);
    await call("PATCH", `/api/admin/users/${id}`, { role: "admin" });
    expect(await statesOf([before, madeByKey])).toEqual(["active", "inactive"]);
    expect((await call("GET", `/api/pipeline/workflows/${workflow}`)).body.enabled).toBe(true);
    expect((await call("GET", "/api/auth/me", undefined, session)).status).toBe(200);
    await call("DELETE", `/api/admin/users/${id}`);
  });

  it("with keys:write binds no key to an assistant that its owner may not use", async () => {
    const { token } = await issue(["keys:write"]);
    const assistant = await call("POST", "/v1/assistants", { name: "private" });
    const body = {
      name: "bound",
      owner_id: people["ada"],
      assistant_id: assistant.body.id,
    };
    const refused = await call("POST", "/v1/api-keys", body, token);
    expect([refused.status, refused.body.error.param]).toEqual([404, "assistant_id"]);
    const bound = await call("POST", "/v1/api-keys", body);
    const rotated = await call("POST", `/v1/api-keys/${bound.body.id}/rotate`, undefined, token);
    expect([rotated.status, rotated.body.error.param]).toEqual([404, "assistant_id"]);
  });

  it("is known, and refused after it is deleted, at every replica", async () => {
    const { id, token } = await issue(["usage:read"]);
    const urls = (replicas?.gateways ?? [here]).map(({ url }) => url);
    const read = (url: string) => callHttp(url, { path: "/api/usage", token });
    for (const url of urls) expect((await read(url)).status).toBe(200);
    expect((await call("DELETE", `/api/service-tokens/${id}`)).status).toBe(204);
    const deletedAt = performance.now();
    expect((await read(here.url)).status).toBe(401);
    for (const url of urls) {
      await expect.poll(async () => (await read(url)).status, { timeout: POLLED_MS }).toBe(401);
    }
    const tookMs = Math.round(performance.now() - deletedAt);
    // biome-ignore lint/suspicious/noConsole: a figure of the machine, by which nothing is judged
    console.info(`the token was refused at ${urls.length} replicas after ${tookMs} ms`);
  });
});
