import { readdirSync } from "node:fs";
import { join } from "node:path";
import { utils, write } from "@e965/xlsx";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { callHttp } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openStoreStage,
  type Person,
  type StoreStage,
} from "../../support/stages/knowledge/store-stage.ts";

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const CSV = "text/csv";
const NDJSON = "application/x-ndjson";
const JSON_TYPE = "application/json";

let stage: StoreStage;
let admin: Person;
let owner: Person;
let other: Person;
let names = 0;

beforeAll(async () => {
  stage = await openStoreStage(databaseServerUrl);
  ({ admin, owner, other } = stage);
});
afterAll(() => stage.close());

const newName = () => {
  names += 1;
  return `table_${names}`;
};

async function send(person: Person, path: string, type: string, body: string | Uint8Array) {
  const response = await fetch(stage.served.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${person.session}`, "content-type": type },
    body: body as BodyInit,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that they then compare
  return { status: response.status, body: (await response.json()) as any };
}

async function text(person: Person, path: string): Promise<string> {
  const answer = await person.call({ path });
  expect(answer.status).toBe(200);
  return answer.text;
}

const create = async (person: Person, more: object = {}) => {
  const columns = [
    { name: "n", type: "integer" },
    { name: "name", type: "text" },
  ];
  const body = { name: newName(), columns, key: ["n"], ...more };
  const made = await person.call({ method: "POST", path: "/api/datasets", body });
  expect(made.status).toBe(201);
  return made.body;
};
const rowsPath = (id: string, mode = "append") => `/api/datasets/${id}/rows?mode=${mode}`;
const rowsOf = async (person: Person, id: string): Promise<JsonObject[]> =>
  (await person.call({ path: `/api/datasets/${id}/rows?limit=1000` })).body.data;

describe("/api/datasets", () => {
  it("creates, lists, shows, changes and deletes a dataset", async () => {
    const made = await create(owner, { description: "numbers" });
    expect(made).toMatchObject({
      object: "dataset",
      ...{ description: "numbers", owner_id: owner.id, visibility: "private" },
      ...{ key: ["n"], rows: 0, version: 1 },
    });
    const found = await owner.call({ path: `/api/datasets?search=${made.name}` });
    expect(found.body.data).toContainEqual(made);
    for (const known of [made.id, made.name]) {
      expect((await owner.call({ path: `/api/datasets/${known}` })).body).toEqual(made);
    }
    const path = `/api/datasets/${made.id}`;
    const body = { name: newName(), add_columns: [{ name: "extra", type: "json" }] };
    const changed = await owner.call({ method: "PATCH", path, body });
    expect(changed.body).toMatchObject({ name: body.name, columns: [{}, {}, { name: "extra" }] });
    expect((await owner.call({ method: "DELETE", path })).status).toBe(204);
    expect((await owner.call({ path })).status).toBe(404);
  });

  it.each([
    ["name", { name: "Orders" }],
    ["name", { name: "usage_by_day" }],
    ["columns", { columns: [] }],
    ["columns[0].name", { columns: [{ name: "_row", type: "text" }] }],
    ["columns[0].name", { columns: [{ name: "ctid", type: "text" }] }],
    ["columns[0].name", { columns: [{ name: "a b", type: "text" }] }],
    ["columns[0].type", { columns: [{ name: "a", type: "varchar" }] }],
    [
      "columns[1].name",
      {
        columns: [
          { name: "a", type: "text" },
          { name: "A", type: "text" },
        ],
      },
    ],
    ["key[0]", { columns: [{ name: "a", type: "text" }], key: ["b"] }],
    ["key[0]", { columns: [{ name: "a", type: "json" }], key: ["a"] }],
    [
      "columns",
      { columns: Array.from({ length: 501 }, (_, n) => ({ name: `c${n}`, type: "text" })) },
    ],
  ])("refuses a wrong %s", async (param, more) => {
    const columns = [{ name: "a", type: "text" }];
    const body = { name: newName(), columns, ...more };
    const { status, body: answer } = await owner.call({
      method: "POST",
      path: "/api/datasets",
      body,
    });
    expect([status, answer.error.code, answer.error.param]).toEqual([400, "invalid_value", param]);
  });

  it("takes 500 columns, and a name only once", async () => {
    const columns = Array.from({ length: 500 }, (_, n) => ({ name: `c${n}`, type: "text" }));
    const made = await create(owner, { columns, key: [] });
    const row = Object.fromEntries(columns.map(({ name }) => [name, name]));
    const answer = await send(owner, rowsPath(made.id), NDJSON, JSON.stringify(row));
    expect(answer.status).toBe(200);
    expect(await rowsOf(owner, made.id)).toEqual([row]);
    const body = { name: made.name, columns: columns.slice(0, 1) };
    const again = await other.call({ method: "POST", path: "/api/datasets", body });
    expect([again.status, again.body.error.param]).toEqual([400, "name"]);
  });
});

describe("rights", () => {
  it("are the owner's and the administrators'; everybody reads what is shared; the rest does not exist", async () => {
    const { id } = await create(owner);
    const path = `/api/datasets/${id}`;
    const attempts = async (person: Person) => [
      (await person.call({ path })).status,
      (await person.call({ path: `${path}/rows` })).status,
      (await send(person, rowsPath(id), NDJSON, '{"n":1}')).status,
      (await person.call({ method: "PATCH", path, body: { description: "x" } })).status,
    ];
    expect(await attempts(owner)).toEqual([200, 200, 200, 200]);
    expect(await attempts(admin)).toEqual([200, 200, 200, 200]);
    expect(await attempts(other)).toEqual([404, 404, 404, 404]);
    const share = { method: "PATCH", path, body: { visibility: "everyone" } };
    expect((await owner.call(share)).status).toBe(403);
    expect((await admin.call(share)).status).toBe(200);
    expect(await attempts(other)).toEqual([200, 200, 403, 403]);
    expect((await other.call({ method: "DELETE", path })).status).toBe(403);
    const listed = (await other.call({ path: "/api/datasets?limit=1000" })).body.data;
    expect(listed.map((found: { id: string }) => found.id)).toContain(id);
  });

  it("of a key are its owner's, and a restricted one only reads", async () => {
    const { id } = await create(owner);
    const url = stage.served.url;
    const body = '{"n":1}';
    const headers = { "content-type": NDJSON };
    const path = rowsPath(id);
    const asKey = (token: string) => callHttp(url, { method: "POST", path, token, headers, body });
    expect((await asKey(owner.key)).status).toBe(200);
    expect((await asKey(other.key)).status).toBe(404);
    const given = { name: "limited", rpm_limit: 100 };
    const issued = await owner.call({ method: "POST", path: "/v1/api-keys", body: given });
    const { key } = issued.body;
    expect(issued.status).toBeLessThan(300);
    expect((await asKey(key)).status).toBe(403);
    expect((await callHttp(url, { path: `/api/datasets/${id}`, token: key })).status).toBe(200);
    const created = { method: "POST", path: "/api/datasets", token: key };
    const columns = [{ name: "a", type: "text" }];
    expect((await callHttp(url, { ...created, body: { name: newName(), columns } })).status).toBe(
      403,
    );
  });

  it("of a service token are its scopes'", async () => {
    const { id } = await create(owner);
    const issue = async (scopes: string[]) =>
      (
        await admin.call({
          method: "POST",
          path: "/api/service-tokens",
          body: { name: "t", scopes },
        })
      ).body.token as string;
    const url = stage.served.url;
    const path = `/api/datasets/${id}`;
    const patch = { method: "PATCH", path, body: { description: "by a program" } };
    const reading = await issue(["datasets:read"]);
    expect((await callHttp(url, { path, token: reading })).status).toBe(200);
    expect((await callHttp(url, { ...patch, token: reading })).status).toBe(403);
    const writing = await issue(["datasets:write"]);
    expect((await callHttp(url, { ...patch, token: writing })).status).toBe(200);
  });
});

describe("an import", () => {
  const EXPECTED = [
    {
      id: "9007199254740993",
      price: "12.50",
      rate: 0.25,
      ok: true,
      day: "2026-11-23",
      at: "2026-11-23T14:05:00.000Z",
      text: 'a "quoted", text\nof two lines',
      data: { a: [1] },
    },
    { id: 2, price: "3", rate: 1e-9, ok: false, day: null, at: null, text: "", data: null },
  ];
  const COLUMNS = [
    ["id", "integer"],
    ["price", "decimal"],
    ["rate", "number"],
    ["ok", "boolean"],
    ["day", "date"],
    ["at", "timestamp"],
    ["text", "text"],
    ["data", "json"],
  ].map(([name, type]) => ({ name, type }));

  it.each(["csv", "ndjson"] as const)(
    "of what was exported as %s brings the same rows",
    async (format) => {
      const source = await create(owner, { columns: COLUMNS, key: ["id"] });
      const lines = EXPECTED.map((row) => JSON.stringify(row)).join("\n");
      expect((await send(owner, rowsPath(source.id), NDJSON, lines)).status).toBe(200);
      expect(await rowsOf(owner, source.id)).toEqual(EXPECTED);
      const file = await text(owner, `/api/datasets/${source.id}/rows?format=${format}`);
      const target = await create(owner, { columns: COLUMNS, key: ["id"] });
      const answer = await send(owner, rowsPath(target.id), format === "csv" ? CSV : NDJSON, file);
      expect(answer.body).toMatchObject({
        object: "dataset_import",
        rows: 2,
        dataset: { rows: 2 },
      });
      expect(await rowsOf(owner, target.id)).toEqual(EXPECTED);
    },
  );

  it("of an export with raw=true brings formulas back, which other exports defuse", async () => {
    const columns = ["text", "json", "decimal", "integer"].map((type) => ({
      name: `a_${type}`,
      type,
    }));
    const rows = [
      {
        ...{ a_text: '=HYPERLINK("http://example.com")', a_json: "@SUM(A1)" },
        ...{ a_decimal: "-1.50", a_integer: "-9007199254740993" },
      },
      { a_text: "plain", a_json: { a: "=1" }, a_decimal: "2", a_integer: -3 },
      ...["5", "", -7, false, ["-1"], null].map((a_json) => ({
        ...{ a_text: "", a_json, a_decimal: null, a_integer: null },
      })),
    ];
    const { id } = await create(owner, { columns, key: [] });
    const lines = rows.map((row) => JSON.stringify(row)).join("\n");
    expect((await send(owner, rowsPath(id), NDJSON, lines)).status).toBe(200);
    const path = `/api/datasets/${id}/rows?format=csv`;
    const head = "a_text,a_json,a_decimal,a_integer\r\n";
    const plain = [
      'plain,"{""a"":""=1""}",2,-3',
      ...['"""5"""', '""""""', "-7", "false", '"[""-1""]"', ""].map((cell) => `"",${cell},,`),
      "",
    ].join("\r\n");
    expect(await text(owner, path)).toBe(
      `${head}"'=HYPERLINK(""http://example.com"")","""@SUM(A1)""",-1.50,-9007199254740993\r\n${plain}`,
    );
    const raw = await text(owner, `${path}&raw=true`);
    expect(raw).toBe(
      `${head}"=HYPERLINK(""http://example.com"")","""@SUM(A1)""",-1.50,-9007199254740993\r\n${plain}`,
    );
    const target = await create(owner, { columns, key: [] });
    expect((await send(owner, rowsPath(target.id), CSV, raw)).status).toBe(200);
    expect(await rowsOf(owner, target.id)).toEqual(await rowsOf(owner, id));
    expect((await owner.call({ path: `${path}&raw=maybe` })).body.error.param).toBe("raw");
  });

  const typesOf = (body: { dataset: { columns: { name: string; type: string }[] } }) =>
    Object.fromEntries(body.dataset.columns.map(({ name, type }) => [name, type]));

  it("creates a dataset with the types that all rows of a CSV suggest", async () => {
    const csv = [
      "Order No;Zip;Price;Rate;Paid;Day;At;Note;Empty;Mixed",
      "1;01234;12.50;1e3;true;2026-11-23;2026-11-23T14:05:00+01:00;x;;1",
      "2;99999;3;2;FALSE;2026-11-24;2026-11-24;;;one",
    ].join("\r\n");
    const path = `/api/datasets/import?name=${newName()}&key=Order_No`;
    const { status, body } = await send(owner, path, "text/csv; charset=utf-8", csv);
    expect(status).toBe(201);
    expect(typesOf(body)).toEqual({
      ...{ Order_No: "integer", Zip: "text", Price: "decimal", Rate: "number", Paid: "boolean" },
      ...{ Day: "date", At: "timestamp", Note: "text", Empty: "text", Mixed: "text" },
    });
    expect(body.dataset).toMatchObject({ rows: 2, version: 1, key: ["Order_No"] });
    expect((await rowsOf(owner, body.dataset.id))[0]).toMatchObject({
      ...{ Order_No: 1, Zip: "01234", At: "2026-11-23T13:05:00.000Z", Empty: null, Mixed: "1" },
    });
  });

  it.each([
    ["a JSON array", JSON_TYPE, (rows: object[]) => JSON.stringify(rows, null, 2)],
    ["NDJSON", NDJSON, (rows: object[]) => rows.map((row) => JSON.stringify(row)).join("\n")],
  ])("creates a dataset from %s", async (_, type, toText) => {
    const rows = [
      { n: 1, price: 1.5, "a name": "[x], {y}", tags: ["a"], day: "2026-11-23" },
      { n: "9007199254740993", price: 2, more: null, day: "2026-11-24" },
    ];
    const file = toText(rows).replace('"9007199254740993"', "9007199254740993");
    const { status, body } = await send(
      owner,
      `/api/datasets/import?name=${newName()}`,
      type,
      file,
    );
    expect(status).toBe(201);
    expect(typesOf(body)).toEqual({
      ...{ n: "integer", price: "number", a_name: "text", tags: "json", day: "date", more: "text" },
    });
    expect((await rowsOf(owner, body.dataset.id)).map(({ n }) => n)).toEqual([
      1,
      "9007199254740993",
    ]);
  });

  const workbook = (cells: unknown[][]): Uint8Array => {
    const sheet = utils.aoa_to_sheet(cells, { UTC: true } as object);
    return write(
      { SheetNames: ["one"], Sheets: { one: sheet } },
      { type: "buffer", bookType: "xlsx" },
    );
  };

  it("creates a dataset from a workbook, with its numbers, dates and truth values", async () => {
    const day = new Date(Date.UTC(2026, 10, 23));
    const bytes = workbook([
      ["n", "price", "day", "ok", "text"],
      [1, 12.5, day, true, "007"],
      [2, 3, day, false, null],
    ]);
    const path = `/api/datasets/import?name=${newName()}`;
    const { status, body } = await send(owner, path, XLSX, bytes);
    expect([status, body.error]).toEqual([201, undefined]);
    expect(typesOf(body)).toEqual({
      ...{ n: "integer", price: "number", day: "date", ok: "boolean", text: "text" },
    });
    expect((await rowsOf(owner, body.dataset.id))[0]).toEqual({
      ...{ n: 1, price: 12.5, day: "2026-11-23", ok: true, text: "007" },
    });
  });

  it.each([
    ["CSV", CSV, 'n,name\r\n1,a\r\n2,"b\nc"\r\nx,d\r\n', 5],
    ["NDJSON", NDJSON, '{"n":1}\n\n{"n":"x"}\n', 3],
    ["JSON", JSON_TYPE, '[\n{"n":1},\n\n{"n":\n"x"}]', 4],
    [
      "XLSX",
      XLSX,
      workbook([
        ["n", "name"],
        [1, "a"],
        ["x", "b"],
      ]),
      3,
    ],
  ])(
    "names line and column of a wrong row of %s, and writes nothing",
    async (_, type, file, line) => {
      const { id } = await create(owner);
      const { status, body } = await send(owner, rowsPath(id), type, file);
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "n"]);
      expect(body.error.message).toMatch(
        new RegExp(`^Line ${line}, column 'n': expected a whole number`),
      );
      expect(await rowsOf(owner, id)).toEqual([]);
    },
  );

  it("names each wrong row, up to a hundred, and why reading ended", async () => {
    const { id } = await create(owner);
    const refuse = async (file: string) => (await send(owner, rowsPath(id), CSV, file)).body.ext;
    expect(await refuse("n,name\n1,a\nx,b\n2,c\n,d\ny,e\n")).toEqual({
      errors: [
        { line: 3, column: "n", message: expect.stringMatching(/whole number.*"x"$/) },
        { line: 5, column: "n", message: expect.stringMatching(/key/) },
        { line: 6, column: "n", message: expect.stringMatching(/"y"$/) },
      ],
      end: null,
    });
    const many = await refuse(`n,name\n${"x,a\n".repeat(5_000)}`);
    expect(many.errors).toHaveLength(100);
    expect(many.end).toMatch(/may be more/);
    expect(await rowsOf(owner, id)).toEqual([]);
  });

  it.each([
    ["a quotation mark that is not closed", CSV, 'n,name\n1,"a\n', /^Line \d: a quotation mark/],
    [
      "a quotation mark within a cell",
      CSV,
      'n,name\n1,5" pipe\n',
      /^Line 2: a quotation mark stands within a cell/,
    ],
    ["an unknown column", CSV, "n,other\n1,2\n", /^Line 1, column 'other': is not a column/],
    ["__proto__", NDJSON, '{"__proto__":1}', /^Line 1, column '__proto__': is not a column/],
    ["a damaged workbook", XLSX, "PK\u0003\u0004 no", /damaged/],
  ])("refuses %s by name", async (_, type, file, message) => {
    const { id } = await create(owner);
    const { status, body } = await send(owner, rowsPath(id), type, file);
    expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    expect(body.error.message).toMatch(message);
    expect(await rowsOf(owner, id)).toEqual([]);
  });

  it.each([
    ["CSV", CSV, (cells: string[]) => `${cells.join(",")}\n`],
    ["XLSX", XLSX, (cells: string[]) => workbook([cells])],
  ])(
    "of headings alone in %s empties a dataset that has them, and no other",
    async (_, type, toFile) => {
      const { id } = await create(owner);
      expect((await send(owner, rowsPath(id), CSV, "n,name\n1,a\n")).status).toBe(200);
      const replace = (cells: string[]) =>
        send(owner, rowsPath(id, "replace"), type, toFile(cells));
      const refused = await replace(["n", "other", "more"]);
      const { status, body } = refused;
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "other"]);
      const message = "is not a column of the dataset; leave it out or add the column";
      expect(body.error.message).toBe(`Line 1, column 'other': ${message}. Nothing was written.`);
      expect(body.ext.errors).toEqual([
        { line: 1, column: "other", message },
        { line: 1, column: "more", message },
      ]);
      expect(await rowsOf(owner, id)).toHaveLength(1);
      expect((await replace(["n", "name"])).body).toMatchObject({ rows: 0, dataset: { rows: 0 } });
    },
  );

  it.each([
    ["CSV", CSV, "n,name\n"],
    ["JSON", JSON_TYPE, "[]"],
    ["XLSX", XLSX, workbook([["n", "name"]])],
  ])("creates no dataset from %s without rows, and says why", async (_, type, file) => {
    const path = `/api/datasets/import?name=${newName()}`;
    const { status, body } = await send(owner, path, type, file);
    expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    expect(body.error.message).toMatch(/no rows to guess the types of columns.*'columns'/);
  });

  it("of a CSV with a stray zero writes nothing", async () => {
    const { id } = await create(owner);
    expect((await send(owner, rowsPath(id), CSV, "n,name\n1,a\n")).status).toBe(200);
    for (const file of ["n,name\n1,x\0y\n", "n,name\n12,x\0y\n"]) {
      expect((await send(owner, rowsPath(id, "replace"), CSV, file)).status).toBe(400);
    }
    expect(await rowsOf(owner, id)).toHaveLength(1);
  });

  it("appends, replaces and upserts thousands of rows", async () => {
    const { id } = await create(owner);
    const lines = (from: number, to: number, name: string) =>
      Array.from({ length: to - from }, (_, at) => `${from + at},${name}`).join("\n");
    const put = async (mode: string, body: string) =>
      (await send(owner, rowsPath(id, mode), CSV, `n,name\n${body}`)).body.dataset;
    expect(await put("append", lines(0, 5_000, "a"))).toMatchObject({ rows: 5_000, version: 2 });
    expect(await put("upsert", lines(4_000, 6_000, "b"))).toMatchObject({
      rows: 6_000,
      version: 3,
    });
    expect(await put("replace", lines(0, 3_000, "c"))).toMatchObject({ rows: 3_000, version: 4 });
  });

  it("takes neither another type nor an encoded body", async () => {
    const { id } = await create(owner);
    expect((await send(owner, rowsPath(id), "text/plain", "n\n1")).status).toBe(415);
    const headers = { "content-type": CSV, "content-encoding": "gzip" };
    const encoded = { method: "POST", path: rowsPath(id), headers, body: "n\n1" };
    expect((await owner.call(encoded)).status).toBe(415);
    const unknown = await send(owner, `${rowsPath(id)}&other=1`, CSV, "n\n1");
    expect([unknown.status, unknown.body.error.param]).toEqual([400, "other"]);
  });

  it("leaves no file behind, and one entry in the audit log with counts", async () => {
    const { id, name } = await create(owner);
    await send(owner, rowsPath(id, "replace"), CSV, "n,name\n1,secret value\n2,b\n");
    await send(owner, rowsPath(id), CSV, "n,name\nx,y\n");
    const folder = join(stage.deps.settings.DATA_DIR, "dataset-imports");
    expect(readdirSync(folder)).toEqual([]);
    const found = await admin.call({ path: `/api/admin/audit?target_kind=dataset&limit=1000` });
    const entries = found.body.data.filter(
      (entry: { target: { id: string } }) => entry.target.id === id,
    );
    expect(entries.map(({ action, details }: JsonObject) => ({ action, details }))).toEqual([
      { action: "dataset.import", details: { name, mode: "replace", rows: 2 } },
      {
        action: "dataset.create",
        details: { name, columns: 2, key: ["n"], visibility: "private" },
      },
    ]);
  });
});

describe("rows", () => {
  it("come in pages that follow one another", async () => {
    const { id } = await create(owner);
    const csv = (from: number, to: number) =>
      `n\n${Array.from({ length: to - from }, (_, at) => from + at).join("\n")}`;
    await send(owner, rowsPath(id), CSV, csv(0, 7));
    await send(owner, rowsPath(id), CSV, csv(7, 10));
    const seen: unknown[] = [];
    let after = "";
    for (let pages = 0; pages < 10; pages += 1) {
      const path = `/api/datasets/${id}/rows?limit=4${after}`;
      const { body } = await owner.call({ path });
      seen.push(...body.data.map(({ n }: JsonObject) => n));
      expect(body.next !== null).toBe(body.has_more);
      if (!body.has_more) break;
      after = `&after=${body.next}`;
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await send(owner, rowsPath(id, "replace"), CSV, csv(0, 3));
    const late = await owner.call({ path: `/api/datasets/${id}/rows?limit=4${after}` });
    expect([late.status, late.body.error.param]).toEqual([400, "after"]);
    const wrong = await owner.call({ path: `/api/datasets/${id}/rows?after=x` });
    expect([wrong.status, wrong.body.error.param]).toEqual([400, "after"]);
  });

  it("stream as fast as the client reads them, and end when it goes", async () => {
    const { id } = await create(owner);
    const wide = "x".repeat(1_000);
    const lines = Array.from({ length: 20_000 }, (_, n) => `${n},${wide}`).join("\n");
    expect((await send(owner, rowsPath(id), CSV, `n,name\n${lines}`)).status).toBe(200);
    const stopping = new AbortController();
    const response = await fetch(`${stage.served.url}/api/datasets/${id}/rows?format=ndjson`, {
      headers: { authorization: `Bearer ${owner.session}` },
      signal: stopping.signal,
    });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBeGreaterThan(0);
    stopping.abort();
    const whole = await text(owner, `/api/datasets/${id}/rows?format=csv`);
    expect(whole.split("\r\n")).toHaveLength(20_002);
    const some = await text(owner, `/api/datasets/${id}/rows?format=ndjson&limit=3`);
    expect(some.split("\n")).toHaveLength(4);
  });
});
