import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";

const ADMIN_PASSWORD = "canary: the administrator's own";
const FIRST_PASSWORD = "canary: the first password of another";
const OWN_PASSWORD = "canary: the other's own password";
const VENDOR_KEY = "canary-of-the-vendor-0123456789";
const PATH = "/api/admin/audit";
const BI_KEYS = "/v1/bi-keys";

let dataDir: string;
let gateway: TestGateway;
let admin: string;
let user: string;
const secrets = new Set([ADMIN_PASSWORD, FIRST_PASSWORD, OWN_PASSWORD, VENDOR_KEY, TEST_KEY]);

const start = (more: Readonly<Record<string, string>> = {}) =>
  startGateway({
    DATA_DIR: dataDir,
    ADMIN_PASSWORD,
    TRUST_PROXY: "1",
    LLM_BASE_URL: "http://127.0.0.1:9",
    ...more,
  });
const call = (request: HttpCall) => callHttp(gateway.url, { token: admin, ...request });
const read = async (query = "") => (await call({ path: `${PATH}?${query}` })).body;
const actions = async (query = "") =>
  (await read(query)).data.map(({ action }: { action: string }) => action);
const keep = (secret: string) => {
  secrets.add(secret);
  return secret;
};

async function createBiKey(name: string, more: Partial<HttpCall> = {}): Promise<string> {
  const { status, body } = await call({ method: "POST", path: BI_KEYS, body: { name }, ...more });
  expect(status).toBe(201);
  keep(body.key);
  return body.id;
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "audit-"));
  gateway = await start();
  admin = keep(await logIn(gateway.url, "admin", ADMIN_PASSWORD));
  const body = { username: "other", password: FIRST_PASSWORD };
  await call({ method: "POST", path: "/api/admin/users", body });
  const first = keep(await logIn(gateway.url, "other", FIRST_PASSWORD));
  const changed = await call({
    method: "POST",
    path: "/api/auth/password",
    token: first,
    body: { current_password: FIRST_PASSWORD, new_password: OWN_PASSWORD },
  });
  user = keep(changed.body.token);
});

afterAll(async () => {
  await gateway?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

describe("GET /api/admin/audit", () => {
  it("tells who did what to what, when and from where, the newest first", async () => {
    const from = { "x-forwarded-for": "198.51.100.7" };
    const id = await createBiKey("a report", { headers: from });
    const deleted = await call({ method: "DELETE", path: `${BI_KEYS}/${id}`, token: TEST_KEY });
    const { data } = await read(`target_id=${id}`);
    const { body: me } = await call({ path: "/api/auth/me" });
    expect(data).toEqual([
      {
        id: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        actor: { id: me.id, name: "admin" },
        via: "key",
        credential_id: expect.stringMatching(/^key_/),
        address: expect.stringMatching(/^10\./),
        request_id: deleted.headers.get("x-request-id"),
        action: "bi_key.delete",
        target: { kind: "bi_key", id },
        details: { name: "a report" },
      },
      expect.objectContaining({
        via: "session",
        credential_id: expect.stringMatching(/^sid_/),
        address: "198.51.100.7",
        action: "bi_key.create",
        details: expect.objectContaining({
          ...{
            name: "a report",
            datasets: [],
            ip_allow: [],
            expires_at: null,
            row_limit: 1_000_000,
          },
        }),
      }),
    ]);
    expect(data[0].id).toBeGreaterThan(data[1].id);
  });

  it("filters by action, actor, target and time, by all that is given", async () => {
    const id = await createBiKey("filtered");
    const [created] = (await read(`target_id=${id}`)).data;
    await call({ method: "PATCH", path: `${BI_KEYS}/${id}`, body: { name: "renamed" } });
    await call({ method: "POST", path: `${BI_KEYS}/${id}/rotate` }).then(({ body }) => {
      keep(body.key);
    });
    const all = ["bi_key.rotate", "bi_key.update", "bi_key.create"];
    expect(await actions(`target_id=${id}`)).toEqual(all);
    expect(await actions(`target_id=${id}&action=bi_key.`)).toEqual(all);
    expect(await actions(`target_id=${id}&action=bi_key.update`)).toEqual(["bi_key.update"]);
    expect(await actions(`target_id=${id}&action=user.`)).toEqual([]);
    expect(await actions(`target_id=${id}&target_kind=bi_key`)).toEqual(all);
    expect(await actions(`target_id=${id}&target_kind=user`)).toEqual([]);
    expect(await actions(`target_id=${id}&actor_id=${created.actor.id}`)).toEqual(all);
    expect(await actions(`target_id=${id}&actor_id=usr_other`)).toEqual([]);
    const at = encodeURIComponent(created.at.replace("Z", "+00:00"));
    expect(await actions(`target_id=${id}&from=${at}`)).toEqual(all);
    expect(await actions(`target_id=${id}&to=${at}`)).toEqual([]);
    // What is empty is not given.
    expect(await actions(`target_id=${id}&actor_id=&from=&limit=`)).toEqual(all);
  });

  it("goes through the log page by page", async () => {
    for (const name of ["1", "2", "3", "4", "5"]) await createBiKey(name);
    const names: string[] = [];
    let before = "";
    for (;;) {
      const page = await read(`action=bi_key.create&limit=2${before}`);
      names.push(...page.data.map(({ details }: { details: { name: string } }) => details.name));
      expect(page.object).toBe("list");
      if (!page.has_more) break;
      expect(page.data).toHaveLength(2);
      before = `&before=${page.data.at(-1).id}`;
    }
    expect(names.slice(0, 5)).toEqual(["5", "4", "3", "2", "1"]);
    const { data, has_more: hasMore } = await read("action=bi_key.create&limit=1000");
    expect([names.length, hasMore]).toEqual([data.length, false]);
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=ten", "limit"],
    ["before=0", "before"],
    ["before=1.5", "before"],
    ["before=99999999999999999999", "before"],
    ["action=*", "action"],
    ["action=user%25", "action"],
    ["action=user.%00", "action"],
    ["actor_id=%00", "actor_id"],
    ["target_id=a%20b", "target_id"],
    ["target_kind=planet", "target_kind"],
    ["from=yesterday", "from"],
    ["from=2026-02-30T00:00:00Z", "from"],
    ["from=0000-01-01T00:00:00Z", "from"],
    ["to=9999-12-31T23:59:59-14:00", "to"],
    ["from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"],
    ["actorid=usr_1", "actorid"],
  ])("refuses %s and names it", async (query, param) => {
    const { status, body } = await call({ path: `${PATH}?${query}` });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it("is for administrators with a session, and nothing writes to it", async () => {
    const refused = await call({ path: PATH, token: user });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: "insufficient_permission" } },
    });
    expect((await call({ path: PATH, token: TEST_KEY })).status).toBe(403);
    expect((await callHttp(gateway.url, { path: PATH })).status).toBe(401);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expect((await call({ method, path: PATH })).status).toBe(405);
      expect((await call({ method, path: `${PATH}/1` })).status).toBe(404);
    }
  });

  it("has no entry of what was refused", async () => {
    const count = async () => (await read("action=bi_key.&limit=1000")).data.length;
    const before = await count();
    await call({ method: "POST", path: BI_KEYS, body: { name: "" } });
    await call({ method: "POST", path: BI_KEYS, body: { name: "no" }, token: user });
    await call({ method: "DELETE", path: `${BI_KEYS}/bik_0000000000000000000000` });
    expect(await count()).toBe(before);
  });

  it("names after a restart the settings that changed, and shows no secret of any kind", async () => {
    expect((await actions("action=settings.")).at(-1)).toBe("settings.first_start");
    await gateway.stop();
    gateway = await start({ OPENAI_API_KEY: VENDOR_KEY, PORT: "0" });
    const [entry] = (await read("action=settings.change")).data;
    expect(entry).toMatchObject({
      actor: null,
      via: "service",
      credential_id: null,
      address: null,
      request_id: null,
      target: { kind: "settings", id: null },
      details: { changed: [], added: ["OPENAI_API_KEY"], removed: [] },
    });
    const text = JSON.stringify(await read("limit=1000"));
    for (const secret of secrets) expect(text).not.toContain(secret);
  });
});
