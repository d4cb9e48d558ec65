import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { mcpServers } from "../../../src/db/tables/mcp-servers.ts";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import {
  type ChangingToolServer,
  type ServedTool,
  startChangingToolServer,
} from "../../support/servers/changing-tool-server.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { addKey, addPerson } from "../../support/stages/usage/usage-people.ts";

const PATH = "/api/mcp-servers";
const UNKNOWN = `${PATH}/mcps_0000000000000000000000`;
const SECRET = "canary-of-a-tool-server";
const READ: ServedTool = {
  name: "read",
  description: "Reads.",
  annotations: { readOnlyHint: true },
};
const ODD: ServedTool = { name: "odd/name", description: "Does what it likes." };

let served: ServedDeps;
let server: ChangingToolServer;
let admin: string;
let number = 0;
/** Every answer that was given: no secret may show in one. */
const answers: string[] = [];

const call = async (request: HttpCall) => {
  const answer = await callHttp(served.url, { token: admin, ...request });
  answers.push(answer.text);
  return answer;
};
const post = (path: string, body?: unknown) => call({ method: "POST", path, body });
const patch = (path: string, body: unknown) => call({ method: "PATCH", path, body });
const create = (body: Readonly<Record<string, unknown>> = {}) => {
  number += 1;
  return post(PATH, { name: `s${number}`, url: server.url, ...body });
};
/** A tool server that was saved. */
const created = async (body: Readonly<Record<string, unknown>> = {}) => {
  const { status, body: saved } = await create(body);
  expect([status, saved.error]).toEqual([201, undefined]);
  return { ...saved, path: `${PATH}/${saved.id}` };
};
const refused = ({ status, body }: Awaited<ReturnType<typeof call>>) => [
  status,
  body.error?.code,
  body.error?.param,
];
const states = (saved: { readonly tools: readonly { name: string; state: string }[] }) =>
  Object.fromEntries(saved.tools.map(({ name, state }) => [name, state]));

beforeAll(async () => {
  server = await startChangingToolServer(READ, ODD);
  served = await serveDeps(databaseServerUrl, { EGRESS_ALLOW: "127.0.0.1" });
  admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
});
afterEach(() => {
  server.offer(READ, ODD);
});
afterAll(async () => {
  await served?.close();
  await server?.stop();
});

describe("4.6 /api/mcp-servers", () => {
  it("lets a service token add and move a tool server, whose tools then wait for a person", async () => {
    const scopes = ["mcp_servers:read", "mcp_servers:write"];
    const issued = await post("/api/service-tokens", { name: "a program", scopes });
    const { token } = issued.body;
    const body = { name: "by-program", url: server.url };
    const saved = await call({ method: "POST", path: PATH, body, token });
    expect([saved.status, new Set(Object.values(states(saved.body)))]).toEqual([
      201,
      new Set(["waiting"]),
    ]);
    const path = `${PATH}/${saved.body.id}`;
    const tool = saved.body.tools[0].tool;
    const moved = { url: `${server.url}?again`, approve_tools: true };
    expect(refused(await call({ method: "PATCH", path, body: moved, token }))).toEqual([
      403,
      "insufficient_permission",
      "approve_tools",
    ]);
    for (const [method, to, more] of [
      ["POST", `${path}/approve`, {}],
      ["PATCH", `${path}/tools/${tool}`, { level: "read_only" }],
    ] as const) {
      const answer = await call({ method, path: to, body: more, token });
      expect(refused(answer).slice(0, 2)).toEqual([403, "insufficient_permission"]);
    }
    expect((await post(`${path}/approve`)).status).toBe(200);
    const { url } = moved;
    const again = await call({ method: "PATCH", path, body: { url }, token });
    expect(new Set(Object.values(states(again.body)))).toEqual(new Set(["waiting"]));
    expect((await call({ method: "DELETE", path, token })).status).toBe(204);
  });

  it("tells administrators what waits, what was left out, and whose schema was too large", async () => {
    const waiting = async () =>
      (await call({ path: "/api/status" })).body.administration.tools_waiting;
    const before = await waiting();
    const saved = await created();
    const large = {
      type: "object",
      properties: { a: { description: "x".repeat(70_000) } },
    } as const;
    const nameless = { name: "", description: "Has no name." };
    server.offer(
      { ...READ, description: "Reads more." },
      { name: "new", inputSchema: large },
      nameless,
    );
    const { body } = await post(`${saved.path}/check`);
    expect(states(body)).toEqual({ new: "waiting", "odd/name": "gone", read: "changed" });
    expect(await waiting()).toBe(before + 2);
    const { body: approved } = await post(`${saved.path}/approve`);
    expect(await waiting()).toBe(before);
    const { tool } = approved.tools.find((one: ServedTool) => one.name === "new");
    expect(
      approved.tools.filter((one: { schema_replaced: boolean }) => one.schema_replaced),
    ).toEqual([expect.objectContaining({ name: "new", parameters: { type: "object" } })]);
    const { body: all } = await call({ path: "/api/tools" });
    expect(all.data.find((one: ServedTool) => one.name === tool)).toMatchObject({
      schema_replaced: true,
    });
    expect(all.left_out).toContainEqual({
      server_id: saved.id,
      server: saved.name,
      name: null,
      reason: expect.stringMatching(/^Its name is missing/),
    });
    server.offer(READ, ODD);
    const unseen = await created({ approve_tools: false });
    expect(states(unseen)).toEqual({ "odd/name": "waiting", read: "waiting" });
    await call({ method: "DELETE", path: unseen.path });
    await call({ method: "DELETE", path: saved.path });
  });

  it("saves a tool server and shows its tools, but never its headers", async () => {
    const { status, body } = await post(PATH, {
      name: "tickets",
      url: server.url,
      headers: { Authorization: `Bearer ${SECRET}`, cookie: `a=${SECRET}` },
      timeout_ms: 5_000,
    });
    expect(status).toBe(201);
    const { tools, revision, left_out: leftOut, ...shown } = body;
    expect(leftOut).toEqual([]);
    expect(shown).toEqual({
      id: expect.stringMatching(/^mcps_[0-9A-Za-z]{22}$/),
      object: "mcp_server",
      name: "tickets",
      url: server.url,
      header_names: ["Authorization", "cookie"],
      enabled: true,
      timeout_ms: 5_000,
      status: "connected",
      status_reason: null,
      status_since: expect.stringMatching(/Z$/),
      checked_at: expect.stringMatching(/Z$/),
      tool_counts: { approved: 2, waiting: 0, changed: 0, gone: 0 },
      created_at: expect.stringMatching(/Z$/),
    });
    expect(revision).toMatch(/^[0-9a-f]{32}$/);
    expect(tools).toEqual([
      {
        name: "odd/name",
        tool: "mcp_tickets_odd_name",
        description: "Does what it likes.",
        level: "full_auto",
        level_source: "annotations",
        state: "approved",
        parameters: { type: "object" },
        schema_replaced: false,
      },
      {
        name: "read",
        tool: "mcp_tickets_read",
        description: "Reads.",
        level: "read_only",
        level_source: "annotations",
        state: "approved",
        parameters: { type: "object" },
        schema_replaced: false,
      },
    ]);
    expect(server.heard().at(-1)?.headers["authorization"]).toBe(`Bearer ${SECRET}`);
    expect((await call({ path: `${PATH}/${body.id}` })).body).toEqual(body);
    const list = await call({ path: `${PATH}?search=TICK` });
    expect(list.body).toEqual({ object: "list", data: [shown], total: 1 });
    const rows = await served.deps.access.database.ask((db) => db.select().from(mcpServers));
    expect(JSON.stringify(rows)).not.toContain(SECRET);
  });

  it("offers the tools to assistants, within scope and level", async () => {
    const { name } = await created();
    const wanted = { name: "tools", ext: { tools: [`mcp_${name}_*`], max_level: "full_auto" } };
    const assistant = await post("/v1/assistants", wanted);
    const keys = [
      [{ max_level: "full_auto" }, [`mcp_${name}_odd_name`, `mcp_${name}_read`]],
      [{ max_level: "write" }, [`mcp_${name}_read`]],
      [{ max_level: "full_auto", tool_scope: { tools: ["mcp_other_*"], sql_connections: [] } }, []],
    ] as const;
    for (const [fields, expected] of keys) {
      const bound = { name: "bound", assistant_id: assistant.body.id, ...fields };
      const { key } = (
        await callHttp(served.url, {
          ...{ method: "POST", path: "/v1/api-keys", token: admin, body: bound },
        })
      ).body;
      const { body } = await call({ path: "/v1/tools", token: key });
      expect(body.data.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(
        expected,
      );
    }
  });

  it("approves what was seen, and answers 409 when the list has changed since", async () => {
    const { path } = await created();
    server.offer({ ...READ, description: "Changed." }, { name: "a" }, { name: "b" });
    const seen = (await post(`${path}/check`)).body;
    expect(states(seen)).toEqual({
      ...{ read: "changed", a: "waiting", b: "waiting", "odd/name": "gone" },
    });
    expect(seen.tools.at(-1)).toMatchObject({
      ...{ name: "read", description: "Reads." },
      listed: { description: "Changed.", parameters: { type: "object" }, level: "read_only" },
    });

    const { revision } = seen;
    const some = (await post(`${path}/approve`, { tools: ["a"], revision })).body;
    expect(states(some)).toMatchObject({ read: "changed", a: "approved", b: "waiting" });
    expect(some.revision).toBe(revision);
    server.offer({ ...READ, description: "Changed again." }, { name: "a" }, { name: "b" });
    await post(`${path}/check`);
    expect(refused(await post(`${path}/approve`, { revision }))).toEqual([
      ...[409, "changed_meanwhile", "revision"],
    ]);
    expect(states((await call({ path })).body)).toMatchObject({ read: "changed", b: "waiting" });
    for (const tools of [["odd/name"], ["a", "nothing"]]) {
      const at = `tools[${tools.length - 1}]`;
      expect(refused(await post(`${path}/approve`, { tools }))).toEqual([400, "invalid_value", at]);
    }
    const all = (await post(`${path}/approve`)).body;
    expect(states(all)).toMatchObject({ read: "approved", a: "approved", b: "approved" });
    expect(all.tools.at(-1).description).toBe("Changed again.");
  });

  it("sets the level of a tool, and null returns to what the server says", async () => {
    const { path, name } = await created();
    const tool = `${path}/tools/mcp_${name}_odd_name`;
    const level = async () => {
      const shown = (await call({ path })).body.tools[0];
      const offered = served.deps.tools.find(`mcp_${name}_odd_name`)?.level;
      return [shown.level, shown.level_source, offered];
    };
    expect((await patch(tool, { level: "read_only" })).status).toBe(200);
    expect(await level()).toEqual(["read_only", "administrator", "read_only"]);
    expect((await patch(tool, { level: null })).status).toBe(200);
    expect(await level()).toEqual(["full_auto", "annotations", "full_auto"]);
    expect(refused(await patch(tool, { level: "all" }))).toEqual([400, "invalid_value", "level"]);
    expect((await patch(`${path}/tools/nothing`, { level: null })).status).toBe(404);
  });

  it("keeps the secrets of one server from another, and approves nothing of a new address by itself", async () => {
    const other = await startChangingToolServer(READ, { name: "more" });
    const headers = { authorization: SECRET };
    const { path, name } = await created({ headers });
    await patch(`${path}/tools/mcp_${name}_read`, { level: "full_auto" });
    const { url } = other;
    expect(refused(await patch(path, { url }))).toEqual([400, "invalid_value", "headers"]);
    expect(other.heard()).toEqual([]);
    const moved = (await patch(path, { url, headers: {} })).body;
    expect(moved).toMatchObject({ url, header_names: [], status: "connected" });
    expect(states(moved)).toEqual({ read: "waiting", more: "waiting" });
    expect(moved.tools.at(-1)).toMatchObject({ level: "read_only", level_source: "annotations" });
    expect(served.deps.tools.find(`mcp_${name}_read`)).toBeUndefined();

    const back = { url: server.url, headers, approve_tools: true };
    expect(states((await patch(path, back)).body)).toEqual({
      read: "approved",
      "odd/name": "approved",
    });
    // The same origin keeps them.
    const elsewhere = (await patch(path, { url: `${server.url}?team=1` })).body;
    expect(elsewhere).toMatchObject({ header_names: ["authorization"], status: "connected" });
    expect(server.heard().at(-1)?.headers["authorization"]).toBe(SECRET);
    expect(refused(await patch(path, { approve_tools: true }))).toEqual([
      ...[400, "invalid_value", "approve_tools"],
    ]);
    await other.stop();
  });

  it("keeps a tool server that cannot be used, and says why", async () => {
    const away = await startChangingToolServer();
    await away.stop();
    const { status, status_reason: reason, path } = await created({ url: away.url });
    expect([status, reason]).toEqual(["error", expect.stringMatching(/\.$/)]);
    const hidden = await created({ url: "http://10.1.2.3/mcp" });
    expect(hidden.status_reason).toContain("EGRESS_ALLOW");
    await away.start();
    expect((await post(`${path}/check`)).body).toMatchObject({ status: "connected" });
    const disabled = (await patch(path, { enabled: false })).body;
    expect([disabled.status, disabled.status_reason]).toEqual(["disabled", null]);
    expect((await post(`${path}/check`)).body.status).toBe("disabled");
    await away.stop();
  });

  it.each([
    ["name", { name: "Tickets" }],
    ["name", { name: "-a" }],
    ["name", { name: "a".repeat(21) }],
    ["name", { name: "a_b" }],
    ["url", { url: "ftp://example.com" }],
    ["url", { url: "http://user:pass@example.com" }],
    ["url", { url: "http://example.com/#a" }],
    ["url", { url: `http://example.com/${"a".repeat(2_048)}` }],
    ["headers", { headers: { Host: SECRET } }],
    ["headers", { headers: { "content-length": SECRET } }],
    ["headers", { headers: { "Transfer-Encoding": SECRET } }],
    ["headers", { headers: { "mcp-session-id": SECRET } }],
    ["headers", { headers: { "a b": SECRET } }],
    ["headers", { headers: { a: `${SECRET}\r\nb: c` } }],
    ["headers", { headers: { a: `${SECRET}é` } }],
    ["headers.a", { headers: { a: [SECRET] } }],
    ["headers", { headers: { a: SECRET, A: SECRET } }],
    ["headers", { headers: { a: SECRET.repeat(400) } }],
    [
      "headers",
      { headers: Object.fromEntries(Array.from("x".repeat(21), (_, i) => [`a${i}`, SECRET])) },
    ],
    ["enabled", { enabled: "yes" }],
    ["timeout_ms", { timeout_ms: 999 }],
    ["timeout_ms", { timeout_ms: 600_001 }],
  ])("refuses a %s that is none: %j", async (param, fields) => {
    const heard = server.heard().length;
    expect(refused(await create(fields))).toEqual([400, "invalid_value", param]);
    expect(server.heard()).toHaveLength(heard);
  });

  it("takes each name once, and keeps it", async () => {
    const { name, path } = await created();
    expect(refused(await create({ name }))).toEqual([400, "invalid_value", "name"]);
    expect(refused(await patch(path, { name: "other" }))).toEqual([
      400,
      "unsupported_parameter",
      "name",
    ]);
  });

  it("deletes one with its tools", async () => {
    const { path, name } = await created();
    expect((await call({ method: "DELETE", path })).status).toBe(204);
    expect(served.deps.tools.find(`mcp_${name}_read`)).toBeUndefined();
    const gone: readonly HttpCall[] = [
      { path },
      { method: "DELETE", path },
      { method: "PATCH", path, body: { enabled: true } },
      { method: "POST", path: `${path}/check` },
      { method: "POST", path: `${path}/approve` },
      { method: "PATCH", path: `${UNKNOWN}/tools/a`, body: { level: null } },
    ];
    for (const request of gone) {
      expect(refused(await call(request))).toEqual([404, "not_found", null]);
    }
  });

  it("is for administrators, by session", async () => {
    const { path } = await created();
    const { token } = await addPerson(served.url, admin, "user");
    const { key } = await addKey(served.url, admin, "a key");
    for (const other of [token, key]) {
      const request = { method: "PATCH", path, body: { enabled: false }, token: other };
      expect(refused(await call(request))).toEqual([403, "insufficient_permission", null]);
      expect((await call({ path: PATH, token: other })).status).toBe(403);
    }
    expect((await call({ path })).body.enabled).toBe(true);
  });

  it("records who changed what, without the values of headers", async () => {
    const { id, path, name } = await created({ headers: { "x-key": SECRET } });
    await patch(path, { headers: { "x-other": SECRET }, timeout_ms: 2_000 });
    await patch(path, { timeout_ms: 2_000 });
    await patch(`${path}/tools/mcp_${name}_read`, { level: "write" });
    server.offer(READ, ODD, { name: "new" });
    await post(`${path}/check`);
    await post(`${path}/approve`);
    await post(`${path}/approve`);
    await call({ method: "DELETE", path });
    const { body } = await call({ path: `/api/admin/audit?target_id=${id}` });
    const entries = body.data.map(({ action, details }: Record<string, unknown>) => [
      action,
      details,
    ]);
    expect(entries.reverse()).toEqual([
      [
        "mcp_server.create",
        {
          ...{ name, url: server.url, enabled: true, timeout_ms: null },
          ...{ header_names: ["x-key"], approved: ["read", "odd/name"] },
        },
      ],
      ["mcp_server.update", { header_names: ["x-other"], timeout_ms: 2_000 }],
      ["mcp_server.set_level", { tool: "read", level: "write" }],
      ["mcp_server.approve", { tools: ["new"] }],
      ["mcp_server.delete", { name, url: server.url }],
    ]);
  });

  it("answers the former path with its new one, for every method", async () => {
    const { id } = await created();
    const { databaseUrl: _, url } = served;
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      for (const rest of ["", "/", `/${id}?limit=1&a=%2F%20b`, `/${id}/tools/a%20b`]) {
        const asked = `${url}/api/tool-servers${rest}`;
        const answer = await fetch(asked, { method, redirect: "manual" });
        expect([method, answer.status, answer.headers.get("location")]).toEqual([
          ...[method, 308, `/api/mcp-servers${rest}`],
        ]);
      }
    }
    const followed = await fetch(`${url}/api/tool-servers/${id}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body: JSON.stringify({ enabled: false }),
    });
    expect(await followed.json()).toMatchObject({ id, enabled: false });
    const unmoved = await fetch(`${url}/api/tool-serversx`, { redirect: "manual" });
    expect(unmoved.status).toBe(404);
  });

  it("has shown no secret in any answer", () => {
    expect(answers.length).toBeGreaterThan(50);
    expect(answers.filter((text) => text.includes(SECRET))).toEqual([]);
  });
});
