import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "canary: the administrator's own";
const PASSWORD = "canary: set by the administrator";
const USERS = "/api/admin/users";
const UNKNOWN = `${USERS}/usr_0000000000000000000000`;
let gateway: TestGateway;
let admin: string;
let places = 0;
let username: string;

beforeAll(async () => {
  gateway = await startGateway({
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    LOG_LEVEL: "debug",
    LLM_BASE_URL: "http://127.0.0.1:9",
  });
  admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
});

beforeEach(() => {
  username = `user-${++places}`;
});

afterAll(() => gateway?.stop());

const call = (request: HttpCall) => callHttp(gateway.url, { token: admin, ...request });
const list = async (query = "") => (await call({ path: `${USERS}${query}` })).body;
const create = (body: unknown, token = admin) => call({ method: "POST", path: USERS, body, token });
const patch = (id: string, body: unknown, token = admin) =>
  call({ method: "PATCH", path: `${USERS}/${id}`, body, token });
const remove = (id: string, token = admin) =>
  call({ method: "DELETE", path: `${USERS}/${id}`, token });
/** Evaluations allow five users: whoever a test makes goes with it. */
const withUser = async (work: (id: string, token: string) => Promise<void>) => {
  const { status, body } = await create({ username, password: PASSWORD });
  expect(status).toBe(201);
  try {
    await work(body.id, await ownSession());
  } finally {
    await remove(body.id);
  }
};
/** The session of a user who has changed the first password. */
async function ownSession(): Promise<string> {
  const { body } = await call({
    method: "POST",
    path: "/api/auth/password",
    token: await logIn(gateway.url, username, PASSWORD),
    body: { current_password: PASSWORD, new_password: `${PASSWORD} and by ${username}` },
  });
  return body.token;
}
const issueKey = async (token: string): Promise<string> => {
  const { body } = await call({ method: "POST", path: "/v1/api-keys", token, body: { name: "k" } });
  return body.key;
};
const models = async (token: string) => (await call({ path: "/v1/models", token })).status;

describe("administrators' users", () => {
  it("are made, shown, listed, changed and deleted", async () => {
    const created = await create({ username: "Grace.Hopper@example.org", role: "admin" });
    expect(created.status).toBe(201);
    expect(created.headers.get("cache-control")).toBe("no-store");
    const { password, ...user } = created.body;
    expect(password).toMatch(/^[0-9A-Za-z]{20,}$/);
    expect(user).toEqual({
      id: expect.stringMatching(/^usr_[0-9A-Za-z]{22}$/),
      username: "grace.hopper@example.org",
      role: "admin",
      state: "active",
      must_change_password: true,
      created_at: expect.stringMatching(/Z$/),
      last_login_at: null,
      monthly_token_limit: null,
      rpm_limit: null,
      key_count: 0,
    });
    await logIn(gateway.url, user.username, password);
    const shown = await call({ path: `${USERS}/${user.id}` });
    expect(shown.body).toEqual({ ...user, last_login_at: expect.stringMatching(/Z$/) });
    expect(await list("?search=HOPPER")).toEqual({ object: "list", data: [shown.body], total: 1 });
    const changed = await patch(user.id, { role: "user", state: "disabled" });
    expect([changed.status, changed.body.role, changed.body.state]).toEqual([
      200,
      "user",
      "disabled",
    ]);
    const removed = await remove(user.id);
    expect([removed.status, removed.text]).toEqual([204, ""]);
    expect((await call({ path: `${USERS}/${user.id}` })).body.error.code).toBe("not_found");
  });

  it("come in pages, with the number of all", async () => {
    await withUser(async () => {
      const first = await list("?limit=1");
      expect([first.data.length, first.total]).toEqual([1, 2]);
      const second = await list("?limit=1&offset=1");
      expect(second.data[0].id).not.toBe(first.data[0].id);
      expect((await list("?offset=2")).data).toEqual([]);
      expect((await list("?search=%25")).total).toBe(0);
    });
  });

  it("are listed by their ids, with their keys counted", async () => {
    await withUser(async (id, token) => {
      await issueKey(token);
      const { data, total } = await list(`?ids=${id},usr_0000000000000000000000`);
      expect([total, data[0].id, data[0].key_count]).toEqual([1, id, 1]);
      expect((await list(`?ids=${id}&search=admin`)).data).toEqual([]);
    });
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=ten", "limit"],
    ["limit=1.5", "limit"],
    ["offset=-1", "offset"],
    ["offset=1e99", "offset"],
    ["search=%00", "search"],
    [`search=${"x".repeat(500)}`, "search"],
    ["ids=usr_1,%00", "ids"],
    ["ids=usr_1,,usr_2", "ids"],
    [`ids=${Array.from({ length: 101 }, (_, place) => `usr_${place}`).join(",")}`, "ids"],
  ])("are not listed by %s", async (query, param) => {
    const { status, body } = await call({ path: `${USERS}?${query}` });
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", param]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["a space", { username: "two words" }, "username"],
    ["a NUL", { username: "user\0" }, "username"],
    ["a Cyrillic look-alike", { username: "аdmin" }, "username"],
    ["a Kelvin sign", { username: "\u212Aelvin" }, "username"],
    ["a line end", { username: "user\n" }, "username"],
    ["a quote", { username: "o'hara" }, "username"],
    ["a leading dot", { username: ".user" }, "username"],
    ["65 characters", { username: "x".repeat(65) }, "username"],
    ["nothing", {}, "username"],
    ["a number", { username: 7 }, "username"],
    ["a short password", { username: "x", password: "1234567" }, "password"],
    ["a password with a NUL", { username: "x", password: "canary\0canary" }, "password"],
    ["a password of 10 kB", { username: "x", password: "x".repeat(10_000) }, "password"],
    ["no password, said", { username: "x", password: null }, "password"],
    ["another role", { username: "x", role: "root" }, "role"],
  ])("are not made with %s", async (_, body, param) => {
    const answer = await create({ password: PASSWORD, ...body });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_value"]);
    expect(answer.body.error.param).toBe(param);
    expect(answer.text).not.toMatch(/1234567|canary/);
  });

  it.each([
    "id",
    "state",
    "password_hash",
    "must_change_password",
    "created_at",
    "key_count",
    "__proto__",
  ])("have a %s that no request sets", async (field) => {
    const body = `{"username":"${username}","password":"${PASSWORD}","${field}":"active"}`;
    const { status, text } = await create(body);
    expect(status).toBe(400);
    expect(JSON.parse(text).error.code).toBe("unsupported_parameter");
    expect((await list(`?search=${username}`)).total).toBe(0);
  });

  it.each(["id", "username", "password_hash", "must_change_password", "last_login_at"])(
    "keep their %s at a change",
    async (field) => {
      await withUser(async (id) => {
        const { status, body } = await patch(id, { [field]: "usr_other" });
        expect([status, body.error.code, body.error.param]).toEqual([
          400,
          "unsupported_parameter",
          field,
        ]);
      });
    },
  );

  it("have each their own name", async () => {
    await withUser(async () => {
      const { status, body } = await create({ username: username.toUpperCase() });
      expect([status, body.error.code, body.error.param]).toEqual([
        400,
        "invalid_value",
        "username",
      ]);
    });
  });

  it("are not found under other ids", async () => {
    for (const request of [
      { path: UNKNOWN },
      { method: "PATCH", path: UNKNOWN, body: { role: "admin" } },
      { method: "DELETE", path: UNKNOWN },
      { path: `${USERS}/usr_'%20or%20'1'='1` },
      { path: `${USERS}/${"x".repeat(4_000)}` },
      { path: `${USERS}/%F0%9F%98%80` },
    ] satisfies HttpCall[]) {
      const { status, body } = await call(request);
      expect([status, body.error.code]).toEqual([404, "not_found"]);
    }
  });

  it("are as many as the license allows", async () => {
    const names = Array.from({ length: 8 }, (_, place) => `${username}-${place}`);
    const made = await Promise.all(names.map((name) => create({ username: name })));
    const statuses = made.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, 201, 403, 403, 403, 403]);
    const refused = made.find(({ status }) => status === 403);
    expect(refused?.body.error).toMatchObject({
      type: "permission_error",
      code: "license_user_limit",
    });
    for (const { body } of made) if (body.id !== undefined) await remove(body.id);
  });
});

describe("whoever is no administrator", () => {
  it("sees and changes no user, and becomes none", async () => {
    await withUser(async (id, token) => {
      const key = await issueKey(token);
      for (const credential of [token, key, TEST_KEY]) {
        const answers = [
          await call({ path: USERS, token: credential }),
          await call({ path: `${USERS}/${id}`, token: credential }),
          await create({ username: "other" }, credential),
          await patch(id, { role: "admin" }, credential),
          await remove(id, credential),
        ];
        for (const { status, body } of answers) {
          expect([status, body.error.code]).toEqual([403, "insufficient_permission"]);
        }
      }
      const change = { current_password: PASSWORD, new_password: PASSWORD, role: "admin" };
      const path = "/api/auth/password";
      const { status, body } = await call({ method: "POST", path, token, body: change });
      expect([status, body.error.param]).toEqual([400, "role"]);
      expect((await call({ path: `${USERS}/${id}` })).body.role).toBe("user");
    });
  });
});

describe("K02 over the network", () => {
  it("a disabled user's session and key are refused with the next call, and an enabled one's key works again", async () => {
    await withUser(async (id, token) => {
      const key = await issueKey(token);
      expect([await models(token), await models(key)]).toEqual([200, 200]);
      expect((await patch(id, { state: "disabled" })).status).toBe(200);
      expect([await models(token), await models(key)]).toEqual([401, 401]);
      expect((await patch(id, { state: "active" })).status).toBe(200);
      expect([await models(token), await models(key)]).toEqual([401, 200]);
    });
  });

  it("a deleted user's session and key are refused with the next call", async () => {
    await withUser(async (id, token) => {
      const key = await issueKey(token);
      expect((await call({ path: `${USERS}/${id}` })).body.key_count).toBe(1);
      expect((await remove(id)).status).toBe(204);
      expect([await models(token), await models(key)]).toEqual([401, 401]);
    });
  });

  it("a password set by an administrator ends the sessions, and has to be changed", async () => {
    await withUser(async (id, token) => {
      const { body } = await patch(id, { password: `${PASSWORD} again` });
      expect(body).toMatchObject({ must_change_password: true });
      expect(await models(token)).toBe(401);
      const next = await logIn(gateway.url, username, `${PASSWORD} again`);
      expect(await models(next)).toBe(403);
    });
  });

  it("one who is made an administrator is one with the next call, and no more after the next", async () => {
    await withUser(async (id, token) => {
      const status = async () => (await call({ path: USERS, token })).status;
      await patch(id, { role: "admin" });
      expect(await status()).toBe(200);
      await patch(id, { role: "user" });
      expect(await status()).toBe(403);
    });
  });

  it("nobody takes the last administrator away, or goes alone", async () => {
    const { id } = (await call({ path: "/api/auth/me" })).body;
    for (const change of [{ role: "user" }, { state: "disabled" }]) {
      const { status, body } = await patch(id, change);
      expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    }
    expect((await remove(id)).status).toBe(400);
    expect((await call({ path: "/api/auth/me" })).status).toBe(200);
  });
});

describe("what the server writes", () => {
  it("holds no password, no token and no key", () => {
    const output = gateway.output();
    expect(output).not.toMatch(/canary|ses_[0-9A-Za-z]{43}|sk-[0-9A-Za-z]{43}|argon2id/);
    expect(output).not.toContain(admin);
    expect(output).not.toMatch(/"level":"(error|fatal)"/);
  });
});
