import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  callHttp,
  type HttpAnswer,
  type HttpCall,
  logIn,
} from "../../support/clients/http-session.ts";
import { readCsvTable } from "../../support/clients/read-csv.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { eventually } from "../../support/stages/usage/usage-journal.ts";
import { randomUsage, storeUsage } from "../../support/stages/usage/usage-ledger.ts";
import { addKey, addPerson, type Person } from "../../support/stages/usage/usage-people.ts";

const DAY_MS = 86_400_000;
const PATH = "/api/requests";
const EVIL_NAME = '@SUM(1+1)*cmd|"/c calc"!A0';
const TO = Date.now() - 60_000;
const FROM = TO - 3 * DAY_MS;

const stores: [string, string | undefined][] = [["the embedded database", undefined]];
if (databaseServerUrl !== undefined) stores.push(["PostgreSQL", databaseServerUrl]);

describe.each(stores)("GET /api/requests on %s", (_name, serverUrl) => {
  let simulator: TestSimulator;
  let served: ServedDeps;
  let admin: string;
  let user: Person;
  const keys = { user: "", other: "", deleted: "", orphan: "", evil: "" };
  let userKey: string;
  let ledger: ReturnType<typeof randomUsage>;

  const call = (request: HttpCall) => callHttp(served.url, { token: admin, ...request });
  const read = async (query: string, token = admin) => {
    const { status, body, text } = await call({ path: `${PATH}?${query}`, token });
    expect({ status, text }).toMatchObject({ status: 200 });
    return body;
  };
  /** All pages: a search may stop at any time and be gone on with. */
  const readAll = async (
    query: string,
    token = admin,
  ): Promise<{ readonly data: Record<string, unknown>[] }> => {
    const data: Record<string, unknown>[] = [];
    for (let before = ""; ; ) {
      const page = await read(`${query}&limit=1000${before}`, token);
      data.push(...page.data);
      if (page.next === null) return { ...page, data };
      before = `&before=${page.next}`;
    }
  };
  const readTable = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
    const table: Record<string, string>[] = [];
    let path: string | undefined = `${PATH}?${query}`;
    while (path !== undefined) {
      const answer: HttpAnswer = await call({ path, headers });
      expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
      expect(answer.headers.get("content-disposition")).toBe('attachment; filename="requests.csv"');
      table.push(...readCsvTable(answer.text));
      path = /^<(.*)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
    }
    return table;
  };
  const idsOf = (body: { data: { id?: unknown }[] }) => body.data.map(({ id }) => id);
  const newestFirst = () =>
    [...ledger]
      .sort((one, other) => other.startedAt - one.startedAt || (one.id < other.id ? 1 : -1))
      .map(({ id }) => id);
  const idOfKey = (keyId: string) => ledger.find((record) => record.keyId === keyId)?.id ?? "";

  beforeAll(async () => {
    simulator = await startSimulator({
      models: [{ name: "first", contextLength: 8_192, capabilities: ["completion"] }],
    });
    served = await serveDeps(serverUrl, { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });
    admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
    user = await addPerson(served.url, admin, "user");
    const other = await addPerson(served.url, admin, "other");
    const gone = await addPerson(served.url, admin, "gone");
    const issued = await addKey(served.url, user.token, "user's");
    userKey = issued.key;
    keys.user = issued.id;
    keys.evil = (await addKey(served.url, user.token, EVIL_NAME)).id;
    keys.deleted = (await addKey(served.url, user.token, "deleted")).id;
    keys.other = (await addKey(served.url, other.token, "other's")).id;
    keys.orphan = (await addKey(served.url, gone.token, "orphan")).id;
    const keyIds = Object.values(keys);
    ledger = randomUsage({ seed: 31, count: 300, keyIds, from: FROM, to: TO });
    await served.deps.access.database.ask((db) => storeUsage({ db }, ledger));
    await call({ method: "DELETE", path: `/v1/api-keys/${keys.deleted}`, token: user.token });
    await call({ method: "DELETE", path: `/api/admin/users/${gone.id}` });
  });
  afterAll(async () => {
    await served?.close();
    await simulator?.stop();
  });

  it("shows single requests, the newest first, by the names that JSON has", async () => {
    const body = await readAll("");
    expect(idsOf(body)).toEqual(newestFirst());
    expect(body).toMatchObject({ object: "list", has_more: false, next: null });
    const record = ledger.find(({ keyId }) => keyId === keys.user);
    expect(body.data.find(({ id }) => id === record?.id)).toEqual({
      object: "request",
      id: record?.id,
      started_at: new Date(record?.startedAt ?? 0).toISOString(),
      key_id: keys.user,
      key_name: "user's",
      owner_id: user.id,
      owner_name: "user",
      channel: record?.channel,
      model: record?.model,
      outcome: record?.outcome,
      success: record?.outcome === "ok",
      status: record?.status,
      input_tokens: record?.inputTokens,
      output_tokens: record?.outputTokens,
      cached_tokens: record?.cachedTokens,
      reasoning_tokens: record?.reasoningTokens,
      estimated: record?.estimated,
      latency_ms: record?.latencyMs,
      first_token_ms: record?.firstTokenMs,
      tool_name: null,
      run_id: null,
      assistant_id: record?.assistantId ?? null,
    });
    const deleted = body.data.find(({ key_id: id }) => id === keys.deleted);
    expect(deleted).toMatchObject({ key_name: null, owner_id: null, owner_name: null });
    expect((await read("")).data.length).toBeLessThanOrEqual(50);
  });

  it("is filtered by the assistant that answered, in JSON and in CSV", async () => {
    const meant = newestFirst().filter(
      (id) => ledger.find((record) => record.id === id)?.assistantId === "asst_1",
    );
    expect(meant.length).toBeGreaterThan(10);
    expect(idsOf(await readAll("assistant_id=asst_1"))).toEqual(meant);
    const table = await readTable("assistant_id=asst_1&format=csv");
    expect(table.map(({ id, assistant_id: assistant }) => [id, assistant])).toEqual(
      meant.map((id) => [id, "asst_1"]),
    );
    expect((await readAll("assistant_id=asst_2")).data).toEqual([]);
  });

  it("is gone through page by page, in JSON and in CSV", async () => {
    const ids: unknown[] = [];
    let before = "";
    for (;;) {
      const page = await read(`limit=70${before}`);
      ids.push(...idsOf(page));
      expect(page.has_more).toBe(page.next !== null);
      // A search that took long stops before its page is full.
      const isFull = page.data.length === 70;
      const end = page.next === null ? page.from : isFull && page.data.at(-1).started_at;
      if (end !== false) expect(page.searched_from).toBe(end);
      if (page.next === null) break;
      before = `&before=${page.next}`;
    }
    expect(ids).toEqual(newestFirst());
    const fromCsv = (await readTable("limit=70&format=csv")).map(({ id }) => id);
    expect(fromCsv).toEqual(ids);
  });

  it("comes as CSV that says the same, and that no spreadsheet runs", async () => {
    const { data } = await readAll("");
    const table = await readTable("", { accept: "text/csv" });
    expect(table).toHaveLength(300);
    const plain = (value: unknown) => {
      const cell = value === null ? "" : String(value);
      return typeof value === "string" && /^[=@]/.test(value) ? `'${cell}` : cell;
    };
    expect(table).toEqual(
      data.map(({ object: _object, ...row }) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
      ),
    );
    expect(table.some((row) => row["key_name"] === `'${EVIL_NAME}`)).toBe(true);
    expect(table.some((row) => row["model"]?.startsWith("'="))).toBe(true);
  });

  it("finds a real call by the id that its answer had, about a second later", async () => {
    const answer = await call({
      method: "POST",
      path: "/v1/chat/completions",
      token: userKey,
      body: { model: "first", messages: [{ role: "user", content: "canary of the prompt" }] },
    });
    expect(answer.status).toBe(200);
    const id = answer.headers.get("x-request-id") ?? "";
    await eventually(async () => (await call({ path: `${PATH}/${id}` })).status === 200);
    const { body, text } = await call({ path: `${PATH}/${id}`, token: user.token });
    expect(body).toMatchObject({
      object: "request",
      id,
      key_id: keys.user,
      model: "first",
      status: 200,
      input_tokens: answer.body.usage.prompt_tokens,
      output_tokens: answer.body.usage.completion_tokens,
    });
    expect(text).not.toContain("canary");
    expect(idsOf(await read(`request_id=${id}`, user.token))).toEqual([id]);
    expect(idsOf(await read("limit=1"))).toEqual([id]);
    await served.deps.access.database.ask((db) =>
      db.execute(`delete from usage_records where id = '${id}'`),
    );
  });

  it("shows a user the requests of the keys owned now, and of others not that they are there", async () => {
    const own = new Set([keys.user, keys.evil]);
    const mine = newestFirst().filter((id) =>
      own.has(ledger.find((record) => record.id === id)?.keyId ?? ""),
    );
    expect(idsOf(await readAll("", user.token))).toEqual(mine);
    const unknown = "req_000000000000000000000";
    const nothing = await call({ path: `${PATH}/${unknown}`, token: user.token });
    expect(nothing).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    for (const keyId of [keys.other, keys.deleted, keys.orphan]) {
      const id = idOfKey(keyId);
      expect((await call({ path: `${PATH}/${id}` })).status).toBe(200);
      const { status, text } = await call({ path: `${PATH}/${id}`, token: user.token });
      expect([status, text]).toEqual([404, nothing.text]);
      expect((await read(`request_id=${id}`, user.token)).data).toEqual([]);
      expect((await readAll(`key_id=${keyId}`, user.token)).data).toEqual([]);
    }
    const refused = await call({ path: `${PATH}?user_id=usr_another`, token: user.token });
    expect(refused).toMatchObject({ status: 403, body: { error: { param: "user_id" } } });
    expect(idsOf(await readAll(`user_id=${user.id}`))).toEqual(mine);
  });

  it("is for sessions alone", async () => {
    for (const path of [PATH, `${PATH}/${idOfKey(keys.user)}`]) {
      expect((await callHttp(served.url, { path })).status).toBe(401);
      expect((await call({ path, token: TEST_KEY })).status).toBe(403);
      expect((await call({ path, method: "DELETE" })).status).toBe(405);
    }
  });

  it.each([
    ["from=2026-02-30", "from"],
    ["from=0000-01-01&to=0000-02-01", "from"],
    ["to=275760-09-13", "to"],
    ["from=2026-01-02&to=2026-01-01", "to"],
    ["from=9998-01-01", "from"],
    ["request_id=%00", "request_id"],
    [`request_id=${"r".repeat(201)}`, "request_id"],
    ["key_id=a&key_id=b", "key_id"],
    ["user_id=%20", "user_id"],
    ["model=%00", "model"],
    ["assistant_id=%00", "assistant_id"],
    ["channel=telephone", "channel"],
    ["outcome=success", "outcome"],
    ["status=99", "status"],
    ["status=600", "status"],
    ["status=2xx", "status"],
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["before=1", "before"],
    ["before=%00", "before"],
    [`before=${"A".repeat(401)}`, "before"],
    [`before=${btoa("999999999999999 req_1")}`, "before"],
    [`before=${btoa("-1 req_1")}`, "before"],
    [`before=${btoa("1 a\0b")}`, "before"],
    [`before=${btoa("1' or true --")}`, "before"],
    ["format=parquet", "format"],
    ["offset=1", "offset"],
    ["__proto__=1", "__proto__"],
  ])("refuses %s and names it", async (query, param) => {
    const { status, body } = await call({ path: `${PATH}?${query}` });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
    expect(JSON.stringify(body).length).toBeLessThan(500);
  });

  it.each([
    ["%00", 400],
    ["a%00b", 400],
    ["..%2f..%2fetc", 400],
    ["'%20or%20true--", 404],
    ["x".repeat(201), 404],
    ["%ff", 404],
  ])("has nothing under /%s", async (id, expected) => {
    const { status, body } = await call({ path: `${PATH}/${id}` });
    expect([status, body.error.type]).toEqual([expected, "invalid_request_error"]);
  });

  it("takes SQL in a filter for a name, and finds nothing of it", async () => {
    for (const text of ["' or '1'='1", "%", "_", '"; drop table usage_records; --']) {
      expect((await readAll(`model=${encodeURIComponent(text)}`)).data).toEqual([]);
    }
    expect((await read("request_id='or'1'='1")).data).toEqual([]);
    expect((await readAll("")).data).toHaveLength(300);
  });
});
