import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Admission } from "../../../src/data/principal.ts";
import type { SchemaView as View } from "../../../src/data/views/data-view.ts";
import { createAnswerRequest } from "../../../src/http/request/answer-request.ts";
import { createRouteTable } from "../../../src/http/request/routes/route-table.ts";
import { dataRoutes } from "../../../src/http/resources/data.ts";
import { createRequestsUnderWay } from "../../../src/http/server/requests-under-way.ts";
import { serve } from "../../../src/http/server/serve.ts";
import { logIn } from "../../support/clients/http-session.ts";
import { openReadStage, PRINCIPAL } from "../../support/data/read-stage.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createDatabase, type OwnDatabase } from "../../support/servers/databases/test-database.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

const VIEW: View = {
  ...{ name: "things", comment: "Things.", key: ["id"], dataset: null },
  columns: [
    { name: "id", type: "bigint", comment: "Its number.", nullable: false },
    { name: "name", type: "text", comment: null, nullable: true },
  ],
};

describe.skipIf(databaseServerUrl === undefined)("/v1/data", () => {
  let database: OwnDatabase;
  let stage: Awaited<ReturnType<typeof openReadStage>>;
  let served: ServedDeps;
  let server: Awaited<ReturnType<typeof serve>>;
  let session: string;
  let admission: Admission;
  const principal = { ...PRINCIPAL, rowLimit: 50_000 };

  beforeAll(async () => {
    database = await createDatabase(databaseServerUrl ?? "");
    const sql = postgres(database.url, { max: 1 });
    await sql.unsafe(`create schema data; create table data.things as
      select id::bigint, 'name of ' || id as name from generate_series(1, 60000) as id`);
    await sql.end();
    stage = await openReadStage(database.url);
    served = await serveDeps(databaseServerUrl);
    const reads = {
      process: stage.process,
      listViews: async () => [VIEW],
      readExtents: async () =>
        new Map([["things", { rows: 60_000, updatedAt: 1_790_000_000_000 }]]),
      asOf: async () => 1_790_000_000_000,
      copy: null,
      placeSecret: Buffer.alloc(32, 1),
    };
    const admit = async () => admission;
    const data = { ...served.deps.data, reads, ofCaller: admit, ofReader: admit };
    const table = createRouteTable(dataRoutes({ ...served.deps, data }).routes);
    const fetch = createAnswerRequest(served.deps, table, createRequestsUnderWay());
    server = await serve({ host: "127.0.0.1", port: 0, quietSeconds: 30, fetch });
    session = await logIn(served.url, "admin", ADMIN_PASSWORD);
  });
  afterAll(async () => {
    server.close();
    await server.stop();
    await served.close();
    await stage.close();
    await database.drop();
  });

  const call = (path: string, init: RequestInit = {}) => {
    admission = { principal, login: { url: "postgres://unused" } };
    return send(path, init);
  };
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${server.port}/v1/data${path}`, {
      ...init,
      headers: { authorization: `Bearer ${session}`, ...init.headers },
    });
  const query = (body: object, path = "/query") =>
    call(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });

  it("lists the tables with their columns", async () => {
    const { data } = (await (await call("")).json()) as { data: object[] };
    expect(data).toEqual([
      {
        ...{ name: "things", comment: "Things.", key: ["id"], rows: 60_000 },
        columns: [
          { name: "id", type: "bigint", comment: "Its number." },
          { name: "name", type: "text", comment: null },
        ],
        updated_at: "2026-09-21T14:13:20.000Z",
      },
    ]);
  });

  it("reads pages as JSON, and all rows as CSV or NDJSON by Accept or format", async () => {
    const page = await call("/things?order=-id&limit=2&name=like.name%25");
    expect(page.headers.get("x-data-as-of")).toBe("2026-09-21T14:13:20.000Z");
    const { data, next, has_more } = (await page.json()) as Record<string, unknown>;
    expect(data).toEqual([
      { id: 60_000, name: "name of 60000" },
      { id: 59_999, name: "name of 59999" },
    ]);
    expect(has_more).toBe(true);
    const second = await call(`/things?order=-id&limit=2&name=like.name%25&after=${next}`);
    expect(((await second.json()) as { data: object[] }).data[0]).toMatchObject({ id: 59_998 });
    const csv = await call("/things?id=lte.20000&select=id", { headers: { accept: "text/csv" } });
    expect(csv.headers.get("content-type")).toContain("text/csv");
    expect((await csv.text()).split("\r\n")).toHaveLength(20_002);
    const lines = await (await call("/things?format=ndjson&limit=3&order=id")).text();
    expect(JSON.parse(lines.split("\n")[2] ?? "")).toEqual({ id: 3, name: "name of 3" });
  });

  it("runs a statement with parameters", async () => {
    const sql = "select count(*) as n from data.things where id <= $1::int";
    const answer = await query({ sql, params: [7] });
    expect(await answer.json()).toMatchObject({ data: [{ n: 7 }], has_more: false, next: null });
  });

  it("passes integers beyond 2^53 with all their digits", async () => {
    const answer = await call("/query", {
      method: "POST",
      body: '{"sql":"select $1::bigint as n, $2::text as t","params":[9007199254740993,"1"]}',
      headers: { "content-type": "application/json" },
    });
    expect(await answer.json()).toMatchObject({ data: [{ n: "9007199254740993", t: "1" }] });
  });

  it("answers HEAD without rows, and ends the reading that it began", async () => {
    const answer = await call("/things?format=csv", { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      expect.stringContaining("text/csv"),
    ]);
    await expect.poll(() => stage.openReads()).toBe(0);
  });

  it("ends an answer that is cut with a line that says so, and without its end", async () => {
    const printed = vi.spyOn(console, "error");
    const answer = await call("/things?format=csv");
    let text = "";
    const whole = (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(bytes, { stream: true });
      }
    })();
    await expect(whole).rejects.toThrow();
    expect(text).toMatch(/\r\n# error 54000: .*50000 rows.*\r\n$/);
    // The server answers the next call after it has ended the last one.
    expect((await call("/things?limit=1")).status).toBe(200);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  it.each([
    ["text/csv;q=0, application/json", "application/json"],
    ["text/csv;q=0.1, application/json", "application/json"],
    ["application/json;q=0.5, text/csv;q=0.9", "text/csv"],
    ["text/csv, application/x-ndjson", "text/csv"],
    ["application/x-ndjson, */*;q=0.1", "application/x-ndjson"],
    ["*/*", "application/json"],
    ["image/png", "application/json"],
    ["text/csv;q=x", "application/json"],
  ])("answers to Accept: %s with %s", async (accept, type) => {
    const answer = await call("/things?limit=1", { headers: { accept } });
    expect(answer.headers.get("content-type")).toContain(type);
    await answer.text();
  });

  it("refuses parameters of a statement that no text of the database can hold", async () => {
    for (const text of ["a\0b", "\ud800"]) {
      const answer = await query({ sql: "select $1::text", params: [text] });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { param: "params[0]" } });
    }
  });

  it.each([
    ["/nothing", 404, "not_found", undefined],
    ["/things?nothing=eq.1", 400, "invalid_value", "nothing"],
    ["/things?limit=10001", 400, "invalid_value", "limit"],
    ["/things?after=x", 400, "invalid_value", "after"],
  ])("refuses %s with %s", async (path, status, code, param) => {
    const answer = await call(path);
    expect(answer.status).toBe(status);
    const { error } = (await answer.json()) as { error: object };
    expect(error).toMatchObject({ code, ...(param !== undefined && { param }) });
  });

  it("refuses statements with the code of the database", async () => {
    const refused = await query({ sql: "delete from data.things" });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ ext: { sqlstate: "42501" } });
    const wrong = await query({ sql: "select nonsense" });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({
      ...{ error: { param: "sql" }, ext: { sqlstate: "42703", position: 8 } },
    });
    expect((await query({ sql: "select 1", extra: 1 })).status).toBe(400);
    expect((await query({ sql: "select 1", max_rows: 10_001 })).status).toBe(400);
  });

  it.each([
    ["28P01", 401],
    ["28000", 403],
    ["58000", 503],
  ])("answers an admission refused with %s with %s", async (code, status) => {
    admission = { refusal: { code, message: "No.", hint: "Ask." } };
    const answer = await send("/things");
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: "No. Ask." } });
  });

  it("takes no API key", async () => {
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    expect((await call("/things", { headers })).status).toBe(403);
  });
});
