import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp, type HttpCall, logIn, newAddress } from "../../support/clients/http-session.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "canary: the administrator's own";
const WRONG = "canary: not the password";
const LOGIN = "/api/auth/login";
const HOUR_SECONDS = 3_600;
/** Every secret that is used or given out: none may show in what the server writes. */
const secrets = new Set([ADMIN_PASSWORD, WRONG]);
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({
    ADMIN_PASSWORD,
    SESSION_LIFETIME_HOURS: "3",
    TRUST_PROXY: "1",
    LOG_LEVEL: "debug",
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
});

afterAll(() => gateway?.stop());

const call = (request: HttpCall) => callHttp(gateway.url, request);
const post = (path: string, body: unknown, more: Partial<HttpCall> = {}) =>
  call({ method: "POST", path, body, ...more });
const keep = (secret: string) => {
  secrets.add(secret);
  return secret;
};
const admin = async () => keep(await logIn(gateway.url, "admin", ADMIN_PASSWORD));
const me = async (more: Partial<HttpCall>) =>
  (await call({ path: "/api/auth/me", ...more })).status;
let users = 0;

/** A user whose first password change is pending. */
async function addUser() {
  const username = `user-${++users}`;
  const password = keep(`canary: the first one of ${username}`);
  const path = "/api/admin/users";
  const { status } = await post(path, { username, password }, { token: await admin() });
  expect(status).toBe(201);
  return { username, password };
}

describe("logging in", () => {
  it("answers with a session's token, its end, and whose it is", async () => {
    const { status, headers, body } = await post(LOGIN, {
      username: "admin",
      password: ADMIN_PASSWORD,
    });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      token: expect.stringMatching(/^ses_[0-9A-Za-z]{43}$/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      must_change_password: false,
      user: { id: expect.stringMatching(/^usr_/), username: "admin", role: "admin" },
    });
    keep(body.token);
    const inSeconds = (Date.parse(body.expires_at) - Date.now()) / 1_000;
    expect(inSeconds).toBeGreaterThan(3 * HOUR_SECONDS - 120);
    expect(inSeconds).toBeLessThan(3 * HOUR_SECONDS + 120);
    expect(headers.get("set-cookie")).toBe(
      `gateway_session=${body.token}; Path=/; Max-Age=${3 * HOUR_SECONDS}; HttpOnly; SameSite=Strict`,
    );
  });

  it("gives a cookie for TLS alone where a trusted proxy tells of TLS", async () => {
    const headers = { "x-forwarded-proto": "https" };
    const given = { username: "admin", password: ADMIN_PASSWORD };
    const answer = await post(LOGIN, given, { headers });
    keep(answer.body.token);
    expect(answer.headers.get("set-cookie")).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
  });

  it("is refused in one way, whatever was wrong", async () => {
    const { username } = await addUser();
    const bodies = new Set<string>();
    for (const given of [
      { username, password: WRONG },
      { username: "nobody", password: WRONG },
      { username: `${username}\0`, password: WRONG },
      { username: "аdmin", password: ADMIN_PASSWORD },
      { username: "admin' --", password: WRONG },
      { username, password: "x".repeat(10_000) },
      { username: "x".repeat(10_000), password: WRONG },
    ]) {
      const { status, headers, text } = await post(LOGIN, given);
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect(headers.get("set-cookie")).toBeNull();
      bodies.add(text);
    }
    expect([...bodies].map((text) => JSON.parse(text))).toEqual([
      {
        error: {
          message: "The name or the password is wrong.",
          type: "authentication_error",
          param: null,
          code: "invalid_credentials",
        },
      },
    ]);
  });

  it.each<[string, unknown, [status: number, code: string, param: string | null]]>([
    ["no body", "", [400, "invalid_json", null]],
    ["no JSON", "{", [400, "invalid_json", null]],
    ["null", null, [400, "invalid_value", null]],
    ["a list", [], [400, "invalid_value", null]],
    ["no password", { username: "admin" }, [400, "invalid_value", "password"]],
    ["a list for a name", { username: [], password: WRONG }, [400, "invalid_value", "username"]],
    [
      "a number for a password",
      { username: "a", password: 12345678 },
      [400, "invalid_value", "password"],
    ],
    [
      "a field that is not asked for",
      { username: "a", password: WRONG, role: "admin" },
      [400, "unsupported_parameter", "role"],
    ],
    ["100 kB", { username: "a", password: "x".repeat(100_000) }, [413, "request_too_large", null]],
  ])("is refused as malformed and repeats no secret: %s", async (_, body, expected) => {
    const answer = await post(LOGIN, body, { headers: { "content-type": "application/json" } });
    const { code, param } = answer.body.error;
    expect([answer.status, code, param]).toEqual(expected);
    expect(answer.text).not.toMatch(/12345678|canary|xxxx/);
  });

  it("waits after five failures of an account, and a session that is there goes on", async () => {
    const { username, password } = await addUser();
    const token = keep(await logIn(gateway.url, username, password));
    const tryWrongly = () => post(LOGIN, { username, password: WRONG });
    for (let time = 0; time < 5; time += 1) expect((await tryWrongly()).status).toBe(401);
    // On a slow machine the first waits are over before the next try; each is twice as long as the one before.
    let answer = await tryWrongly();
    for (let time = 0; time < 10 && answer.status !== 429; time += 1) answer = await tryWrongly();
    const { status, headers, body } = answer;
    expect(status).toBe(429);
    expect(body.error).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" });
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(await me({ token })).toBe(200);
  });

  it("counts by the address that a trusted proxy tells", async () => {
    const headers = { "x-forwarded-for": newAddress() };
    const names = Array.from({ length: 26 }, (_, place) => `stranger-${place}`);
    const answers: number[] = [];
    for (const username of names) {
      answers.push((await post(LOGIN, { username, password: WRONG }, { headers })).status);
    }
    expect(answers.slice(0, 20)).toEqual(Array(20).fill(401));
    expect(answers.slice(20)).toContain(429);
    expect((await post(LOGIN, { username: "stranger-0", password: WRONG })).status).toBe(401);
  });
});

describe("a session", () => {
  it("tells who it is and until when", async () => {
    const { status, body } = await call({ path: "/api/auth/me", token: await admin() });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^usr_[0-9A-Za-z]{22}$/),
      username: "admin",
      role: "admin",
      must_change_password: false,
      monthly_token_limit: null,
      rpm_limit: null,
      session: {
        id: expect.stringMatching(/^sid_[0-9A-Za-z]{22}$/),
        created_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
      },
    });
  });

  it("is a key to /v1 as Bearer, and by its cookie to everything else", async () => {
    const token = await admin();
    const cookie = { cookie: `theme=dark; gateway_session=${token}; other=1` };
    expect((await call({ path: "/v1/models", token })).status).toBe(200);
    expect((await call({ path: "/v1/models", headers: cookie })).status).toBe(401);
    expect(await me({ headers: cookie })).toBe(200);
    expect((await call({ path: "/api/admin/users", headers: cookie })).status).toBe(200);
  });

  it("ends with the logout, everywhere, and its cookie is taken back", async () => {
    const token = await admin();
    const { status, headers, text } = await call({
      method: "POST",
      path: "/api/auth/logout",
      token,
    });
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("set-cookie")).toBe(
      "gateway_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
    );
    const over = await call({ path: "/api/auth/me", token });
    expect(over.status).toBe(401);
    expect(over.body.error.code).toBe("session_expired");
    expect(over.headers.get("www-authenticate")).toBe("Bearer");
    expect((await call({ path: "/v1/models", token })).status).toBe(401);
    const again = await call({ method: "POST", path: "/api/auth/logout", token });
    expect(again.status).toBe(401);
  });

  it("opens nothing but the change of the password while the first one is pending", async () => {
    const { username, password } = await addUser();
    const token = keep(await logIn(gateway.url, username, password));
    const calls: HttpCall[] = [
      { path: "/v1/models" },
      { path: "/api/admin/users" },
      { method: "POST", path: "/v1/chat/completions", body: {} },
    ];
    for (const request of calls) {
      const { status, body } = await call({ ...request, token });
      expect([status, body.error.code]).toEqual([403, "password_change_required"]);
    }
    expect((await call({ path: "/api/auth/me", token })).body.must_change_password).toBe(true);

    const next = keep(`canary: the next one of ${username}`);
    const changed = await post(
      "/api/auth/password",
      { current_password: password, new_password: next },
      { token },
    );
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ must_change_password: false, user: { username } });
    expect(changed.headers.get("set-cookie")).toContain(`gateway_session=${changed.body.token}; `);
    const renewed = keep(changed.body.token);
    expect(await me({ token })).toBe(401);
    expect((await call({ path: "/v1/models", token: renewed })).status).toBe(200);
    expect((await call({ path: "/api/admin/users", token: renewed })).status).toBe(403);
    expect((await post(LOGIN, { username, password })).status).toBe(401);
  });
});

describe("changing the own password", () => {
  it.each([
    ["seven characters", "1234567"],
    ["257 characters", "x".repeat(257)],
    ["10 kB", "x".repeat(10_000)],
    ["a NUL", "canary: cut\0here"],
    ["a number", 1234567890],
    ["nothing", undefined],
  ])("takes no password of %s, and does not repeat it", async (_, newPassword) => {
    const { status, body, text } = await post(
      "/api/auth/password",
      { current_password: ADMIN_PASSWORD, new_password: newPassword },
      { token: await admin() },
    );
    expect([status, body.error.param]).toEqual([400, "new_password"]);
    expect(text).not.toMatch(/1234567|xxxx|canary/);
  });

  it("needs the current one, and another than that", async () => {
    const token = await admin();
    const change = (current: string, next: string) =>
      post("/api/auth/password", { current_password: current, new_password: next }, { token });
    const wrong = await change(WRONG, "canary: something else");
    expect([wrong.status, wrong.body.error.code]).toEqual([401, "invalid_credentials"]);
    const same = await change(ADMIN_PASSWORD, ADMIN_PASSWORD);
    expect([same.status, same.body.error.param]).toEqual([400, "new_password"]);
    expect(await me({ token })).toBe(200);
  });
});

describe("a cookie", () => {
  const LOGOUT = { method: "POST", path: "/api/auth/logout" };

  it.each<[string, Record<string, string>]>([
    ["another site's page", { "sec-fetch-site": "cross-site" }],
    ["a page of a sister site", { "sec-fetch-site": "same-site" }],
    ["another origin", { origin: "https://evil.example" }],
    ["another port", { origin: "http://127.0.0.1:1" }],
    ["a look-alike suffix", { origin: "http://127.0.0.1.evil.example" }],
    ["no origin that may be told", { origin: "null" }],
    ["no origin at all", { origin: "nonsense" }],
  ])("changes nothing for %s", async (_, headers) => {
    const token = await admin();
    const cookie = `gateway_session=${token}`;
    const { status, body } = await call({ ...LOGOUT, headers: { ...headers, cookie } });
    expect([status, body.error.code]).toEqual([403, "insufficient_permission"]);
    const create = await post("/api/admin/users", {}, { headers: { ...headers, cookie } });
    expect(create.status).toBe(403);
    expect(await me({ headers: { ...headers, cookie } })).toBe(200);
  });

  it("changes things for the console's own pages, and Bearer for any", async () => {
    const origin = new URL(gateway.url).origin;
    for (const headers of [
      { "sec-fetch-site": "same-origin", origin },
      { "sec-fetch-site": "none" },
      { origin },
      {},
    ] as Record<string, string>[]) {
      const cookie = `gateway_session=${await admin()}`;
      expect((await call({ ...LOGOUT, headers: { ...headers, cookie } })).status).toBe(204);
    }
    const headers = { "sec-fetch-site": "cross-site", origin: "https://other.example" };
    expect((await call({ ...LOGOUT, headers, token: await admin() })).status).toBe(204);
  });
});

describe("what the server writes", () => {
  it("holds no password and no token", () => {
    const output = gateway.output();
    for (const secret of secrets) expect(output).not.toContain(secret);
    expect(output).not.toMatch(/canary|ses_[0-9A-Za-z]{43}|argon2id/);
    expect(output).not.toMatch(/"level":"(error|fatal)"/);
  });
});

describe("the first start without ADMIN_PASSWORD", () => {
  it("keeps a password that has to be changed in a file for its user only, where no terminal is", async () => {
    const first = await startGateway({ LLM_BASE_URL: "http://127.0.0.1:9" });
    try {
      const file = join(first.dataDir, "first-start.txt");
      await expect.poll(first.output, { timeout: 20_000 }).toContain(file);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const text = readFileSync(file, "utf8");
      const password = /admin logs in with the password (\S+)\n/.exec(text)?.[1] ?? "";
      expect(password).toMatch(/^[0-9A-Za-z]{20,}$/);
      expect(first.output()).not.toContain(password);
      const { body } = await callHttp(first.url, {
        method: "POST",
        path: LOGIN,
        body: { username: "admin", password },
      });
      expect(body).toMatchObject({ must_change_password: true, user: { role: "admin" } });
      // The administrator's keys work all the same.
      const token = TEST_KEY;
      expect((await callHttp(first.url, { path: "/v1/models", token })).status).toBe(200);
    } finally {
      await first.stop();
    }
  });
});
