import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "canary: the administrator's own";
const PATH = "/api/connections";
const UNKNOWN = `${PATH}/conn_0000000000000000000000`;
const SERVER = { kind: "postgres", host: "db.test", database: "crm", user: "reader" };
let gateway: TestGateway;
let admin: string;
let attempts = 0;
const sentinel = createServer((socket) => {
  attempts += 1;
  socket.destroy();
});
let sentinelPort: number;

const call = (request: HttpCall) => callHttp(gateway.url, { token: admin, ...request });
const create = (body: unknown) => call({ method: "POST", path: PATH, body });
const patch = (id: string, body: unknown) => call({ method: "PATCH", path: `${PATH}/${id}`, body });
const test = (id: string) => call({ method: "POST", path: `${PATH}/${id}/test` });

beforeAll(async () => {
  await new Promise<void>((resolve) => sentinel.listen(0, "127.0.0.1", resolve));
  sentinelPort = (sentinel.address() as AddressInfo).port;
  gateway = await startGateway({
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    LOG_LEVEL: "debug",
    LLM_BASE_URL: "http://127.0.0.1:9",
    // Of all the ways to the loopback this one alone.
    EGRESS_ALLOW: "127.0.0.1",
  });
  admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
});
afterAll(async () => {
  await gateway?.stop();
  sentinel.close();
});

describe("/api/connections", () => {
  it("saves a connection, shows it without its password, and lists by name", async () => {
    const description = "Customers.";
    const { status, body } = await create({
      ...{ name: "  Zürich CRM", ...SERVER, password: "canary: of the database", description },
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^conn_[0-9A-Za-z]{22}$/),
      ...{ object: "connection", name: "  Zürich CRM", ...SERVER, port: 5432, tls: "verify" },
      ...{ file: null, description, has_password: true, password_lost: false, last_test: null },
      created_at: expect.stringMatching(/Z$/),
    });
    expect((await call({ path: `${PATH}/${body.id}` })).body).toEqual(body);
    await create({ name: "a first", kind: "sqlite", file: "workspace/a.db" });
    await create({ name: "my", kind: "mysql", host: "db.test", user: "u" });
    const { body: list } = await call({ path: PATH });
    expect(list.total).toBe(3);
    expect(list.data.map(({ name, port }: { name: string; port: number }) => [name, port])).toEqual(
      [
        ["a first", null],
        ["my", 3306],
        ["  Zürich CRM", 5432],
      ],
    );
    expect((await call({ path: `${PATH}?limit=1&offset=1` })).body.data).toHaveLength(1);
  });

  it.each([
    [{ name: "ZÜRICH crm", ...SERVER }, "name"],
    [{ name: "a*", ...SERVER }, "name"],
    [{ name: " ", ...SERVER }, "name"],
    [{ name: "x".repeat(65), ...SERVER }, "name"],
    [{ ...SERVER }, "name"],
    [{ name: "n", ...SERVER, kind: "mssql" }, "kind"],
    [{ name: "n", ...SERVER, host: undefined }, "host"],
    [{ name: "n", ...SERVER, host: "user@db.test" }, "host"],
    [{ name: "n", ...SERVER, host: "/var/run/postgresql" }, "host"],
    [{ name: "n", ...SERVER, host: "db.test:5432" }, "host"],
    [{ name: "n", ...SERVER, port: 0 }, "port"],
    [{ name: "n", ...SERVER, port: 65_536 }, "port"],
    [{ name: "n", ...SERVER, user: null }, "user"],
    [{ name: "n", ...SERVER, database: null }, "database"],
    [{ name: "n", ...SERVER, file: "workspace/a.db" }, "file"],
    [{ name: "n", ...SERVER, tls: "prefer" }, "tls"],
    [{ name: "n", ...SERVER, options: "-c a=b" }, "options"],
    [{ name: "n", kind: "sqlite" }, "file"],
    [{ name: "n", kind: "sqlite", file: "a.db" }, "file"],
    [{ name: "n", kind: "sqlite", file: "nowhere/a.db" }, "file"],
    [{ name: "n", kind: "sqlite", file: "workspace/../a.db" }, "file"],
    [{ name: "n", kind: "sqlite", file: "workspace/a.db", host: "db.test" }, "host"],
    [{ name: "n", kind: "sqlite", file: "workspace/a.db", tls: "off" }, "tls"],
    [{ name: "n", kind: "sqlite", file: "workspace/a.db", password: "canary" }, "password"],
  ])("refuses %j and names the field", async (body, param) => {
    for (const path of [PATH, `${PATH}/test`]) {
      // A name may be taken when a connection is only tried.
      if (path !== PATH && JSON.stringify(body).includes("ZÜRICH")) continue;
      const { status, body: answer } = await call({ method: "POST", path, body });
      expect([path, status, answer.error?.param]).toEqual([path, 400, param]);
      expect(JSON.stringify(answer)).not.toContain("canary");
    }
  });

  it("keeps, replaces and removes the password as the change says", async () => {
    const { body: saved } = await create({ name: "kept", ...SERVER, password: "canary: one" });
    const renamed = await patch(saved.id, { name: "Kept", description: "new" });
    expect(renamed.body).toMatchObject({ name: "Kept", has_password: true });
    expect((await patch(saved.id, {})).body).toEqual(renamed.body);
    expect((await patch(saved.id, { password: null })).body.has_password).toBe(false);
    expect((await patch(saved.id, { host: "other.test" })).body.host).toBe("other.test");
    expect((await patch(saved.id, { password: "canary: two" })).body.has_password).toBe(true);
    expect((await patch(saved.id, { kind: "mysql" })).body.error.param).toBe("kind");
    expect((await patch(saved.id, { file: "workspace/a.db" })).body.error.param).toBe("file");
    expect((await patch(saved.id, { name: "a FIRST" })).body.error.param).toBe("name");
  });

  it.each([[{ host: "evil.test" }], [{ port: 5433 }], [{ user: "other" }], [{ tls: "off" }]])(
    "does not send a stored password elsewhere: %j wants it again",
    async (change) => {
      const [name] = Object.keys(change);
      const fields = { name: `moved ${name}`, ...SERVER, password: "canary" };
      const { body: saved } = await create(fields);
      const refused = await patch(saved.id, change);
      expect(refused.status).toBe(400);
      expect(refused.body.error).toMatchObject({
        param: "password",
        message: expect.stringMatching(/Send 'password' again/),
      });
      expect((await call({ path: `${PATH}/${saved.id}` })).body).toEqual(saved);
      expect((await patch(saved.id, { ...change, password: "canary 2" })).body).toMatchObject(
        change,
      );
    },
  );

  it("deletes a connection, and knows it no more", async () => {
    const { body: saved } = await create({ name: "gone", ...SERVER });
    const path = `${PATH}/${saved.id}`;
    expect((await call({ method: "DELETE", path })).status).toBe(204);
    for (const request of [
      { path },
      { method: "DELETE", path },
      { method: "PATCH", path: UNKNOWN, body: { name: "x" } },
      { method: "POST", path: `${UNKNOWN}/test` },
    ]) {
      const { status, body } = await call(request);
      expect([status, body.error.code]).toEqual([404, "not_found"]);
    }
    expect((await create({ name: "gone", ...SERVER })).status).toBe(201);
  });

  it("is for administrators' sessions alone", async () => {
    const { status, body } = await call({ path: PATH, token: TEST_KEY });
    expect([status, body.error.code]).toEqual([403, "insufficient_permission"]);
  });

  it("records what was changed, and that the password was set", async () => {
    const path = "/api/admin/audit?target_kind=connection&limit=1000";
    const entries = (await call({ path })).body.data;
    const actions = new Set(entries.map(({ action }: { action: string }) => action));
    expect(actions).toEqual(
      new Set(["connection.create", "connection.update", "connection.delete"]),
    );
    expect(JSON.stringify(entries)).not.toContain("canary");
    expect(JSON.stringify(entries)).toContain('"password":"set"');
    expect(JSON.stringify(entries)).toContain('"password":"removed"');
  });
});

describe("the test of a connection", () => {
  it.each([
    ...["127.0.0.2", "0.0.0.0", "::1", "[::1]", "::ffff:7f00:2", "2130706434"],
    ...[
      "0x7f.0.0.2",
      "0177.0.0.2",
      "169.254.169.254",
      "10.0.0.1",
      "100.64.0.1",
      "fe80::1",
      "fd00::1",
    ],
  ])("does not connect to %s, and says what to do", async (host) => {
    const before = attempts;
    const fields = { ...SERVER, host, port: sentinelPort, tls: "off" };
    const tried = await call({
      method: "POST",
      path: `${PATH}/test`,
      body: { name: "n", ...fields },
    });
    expect(tried.body).toMatchObject({ ok: false, error: expect.stringMatching(/EGRESS_ALLOW/) });
    const { body: saved } = await create({ name: `private ${host}`, ...fields });
    expect((await test(saved.id)).body).toMatchObject({ ok: false });
    expect(attempts).toBe(before);
  });

  it("says what is wrong", async () => {
    const trial = async (fields: object) => {
      const body = { name: "n", ...SERVER, tls: "off", ...fields };
      const { status, body: answer } = await call({ method: "POST", path: `${PATH}/test`, body });
      expect(status).toBe(200);
      return answer.error;
    };
    expect(await trial({ host: "no-such-host.invalid" })).toMatch(/host cannot be found/);
    expect(await trial({ host: "127.0.0.1", port: 1 })).toMatch(/refuses connections/);
    expect(await trial({ host: "127.0.0.1", port: sentinelPort })).toMatch(/does not speak|closed/);
    const file = { kind: "sqlite", file: "workspace/missing.db" };
    const none = { host: undefined, database: undefined, user: undefined, tls: undefined };
    expect(await trial({ ...none, ...file })).toMatch(/has no 'missing.db'/);
  });

  it.runIf(databaseServerUrl !== undefined)("says that it works, and with what", async () => {
    const { port, username } = new URL(databaseServerUrl ?? "");
    const body = {
      ...{ name: "works", kind: "postgres", host: "127.0.0.1", port: Number(port), tls: "off" },
      ...{ database: "postgres", user: username },
    };
    const expected = {
      ...{ ok: true, latency_ms: expect.any(Number), error: null },
      ...{ server_version: expect.stringMatching(/^\d+\./), tables: expect.any(Number) },
    };
    expect((await call({ method: "POST", path: `${PATH}/test`, body })).body).toEqual(expected);
    const { body: saved } = await create(body);
    const { body: tested } = await test(saved.id);
    expect(tested).toEqual(expected);
    const path = `${PATH}/${saved.id}`;
    expect((await call({ path })).body.last_test).toMatchObject({ ok: true, error: null });
    expect((await call({ path: `${path}/tables` })).body.data).toHaveLength(tested.tables);
    await patch(saved.id, { description: "changed" });
    expect((await call({ path })).body.last_test).toBeNull();
    const wrong = { ...body, user: "nobody_of_this_name" };
    const { body: refused } = await call({ method: "POST", path: `${PATH}/test`, body: wrong });
    expect(refused.error).toMatch(/role "nobody_of_this_name" does not exist/);
  });
});

it("logs no password", () => {
  expect(gateway.output()).not.toContain("canary");
});
