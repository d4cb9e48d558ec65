import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createSecretBox } from "../../../src/lib/secret-box.ts";
import { createChainHeaders } from "../../../src/workflows/calls-out/call-chain.ts";
import { answerReader } from "../../../src/workflows/calls-out/read-answer.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { RowProcess } from "../../../src/workflows/row-process/row-process.ts";
import { fetchHttpStep as fetchHttp } from "../../../src/workflows/steps/fetch-http.ts";
import { httpRequestStep as httpRequest } from "../../../src/workflows/steps/http-request.ts";
import type {
  CheckContext,
  StepContext,
  StepKind,
} from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { simpleTexts } from "../../support/workflows/simple-texts.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const SECRET = "canary-of-the-address-91f2";
const MIB = 1024 * 1024;

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

describe("steps that call addresses", () => {
  let server: Server;
  let url: string;
  let received: Received[];
  /** The lengths of the texts that were parsed in a process of their own. */
  let parsed: number[];
  const rowProcess = openRowProcess({ processes: 1 });
  let answer: (request: Received, response: ServerResponse) => void;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      const { method, url: path, headers } = request;
      const one = { method, url: path, headers, body };
      received.push(one);
      answer(one, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    received = [];
    parsed = [];
    answer = (_request, response) => response.end("{}");
  });
  afterAll(() => {
    rowProcess.close();
    server.closeAllConnections();
    server.close();
  });

  const services = {
    settings: { MAX_JSON_DEPTH: 128, WORKFLOW_MAX_BYTES: 20 * MIB },
    egress: createEgress({ allow: ["127.0.0.1"] }),
    chainHeaders: createChainHeaders(createSecretBox(Buffer.alloc(32))),
    rowProcess: {
      ...simpleTexts,
      parse: (...given: Parameters<RowProcess["parse"]>) => {
        parsed.push(given[0].length);
        return rowProcess.parse(...given);
      },
      rewrite: (...given: Parameters<RowProcess["rewrite"]>) => {
        parsed.push(given[0].length);
        return rowProcess.rewrite(...given);
      },
    },
    secrets: {
      read: async (_owner: string, name: string) => (name === "crm" ? SECRET : undefined),
      exists: async (_owner: string, name: string) => name === "crm",
    },
  } as unknown as StepServices;
  const owner = { run: { ownerId: "usr_1" } };
  const json = (value: unknown) => (_request: Received, response: ServerResponse) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(value));
  };
  const typed = (type: string, text: string) => (_request: Received, response: ServerResponse) => {
    response.setHeader("content-type", type);
    response.end(text);
  };
  const check = (kind: StepKind, settings: JsonObject) =>
    kind.check?.(kind.schema.parse(settings), { owner: { ownerId: "usr_1" } } as CheckContext);

  describe("fetch_http", () => {
    const fetching = fetchHttp(services);
    const rowsOf = async (settings: JsonObject) =>
      (await runStep(fetching, { settings: { url, ...settings }, ...owner })).outputs.main;

    it("makes rows of a JSON array at a path, with large integers as texts", async () => {
      answer = (_request, response) => {
        response.setHeader("content-type", "application/json; charset=utf-8");
        response.end(
          '{"meta": {"items": [9]}, "data": {"items": [{"id": 12345678901234567890, "t": "a]\\"[,"}, 5]}}',
        );
      };
      expect(await rowsOf({ rows: "data.items" })).toEqual([
        { id: "12345678901234567890", t: 'a]"[,' },
        { value: 5 },
      ]);
    });

    it.each(['[{"a": 1},, {"a": 2}]', '[{"a": 1},]', "[,]"])(
      "refuses %s as no JSON",
      async (text) => {
        answer = typed("application/json", text);
        await expect(rowsOf({})).rejects.toMatchObject({ code: "invalid_json" });
      },
    );

    it("makes no row of an empty array", async () => {
      answer = typed("application/json", " [ ] ");
      expect(await rowsOf({})).toEqual([]);
    });

    it("makes one row of an object, and says where no rows are", async () => {
      answer = json({ data: { a: 1 } });
      expect(await rowsOf({ rows: "data" })).toEqual([{ a: 1 }]);
      await expect(rowsOf({ rows: "items" })).rejects.toMatchObject({
        code: "rows_not_found",
        message: expect.stringContaining("'items'"),
      });
    });

    it("reads CSV and NDJSON as their server declares them, and a text as one row", async () => {
      answer = typed("text/csv", 'a,__proto__\r\n1,"x\ny"\r\n');
      expect(Object.entries((await rowsOf({}))[0] ?? {})).toEqual([
        ["a", "1"],
        ["__proto__", "x\ny"],
      ]);
      answer = typed("application/x-ndjson", '{"a":1}\n{"a":2}\n');
      expect(await rowsOf({})).toEqual([{ a: 1 }, { a: 2 }]);
      answer = typed("text/plain", "hello");
      expect(await rowsOf({})).toEqual([{ text: "hello" }]);
      answer = typed("text/csv", "a,b\n1,2,secret\n");
      await expect(rowsOf({})).rejects.toMatchObject({
        code: "invalid_csv",
        message: expect.not.stringContaining("secret"),
      });
    });

    it("reads CSV and texts in the charset that their server declares", async () => {
      const bytes =
        (type: string, given: Uint8Array) => (_: Received, response: ServerResponse) => {
          response.setHeader("content-type", type);
          // In two pieces, so that a character may be cut.
          response.write(given.subarray(0, 8), () => response.end(given.subarray(8)));
        };
      const latin = Buffer.from("stadt\nKöln\n\x80\n", "latin1");
      answer = bytes('text/csv; header=present; Charset="ISO-8859-1"', latin);
      expect(await rowsOf({})).toEqual([{ stadt: "Köln" }, { stadt: "€" }]);
      answer = bytes("text/csv; charset=utf-16le", Buffer.from("\ufeffstadt\nKöln\n", "utf16le"));
      expect(await rowsOf({})).toEqual([{ stadt: "Köln" }]);
      answer = bytes("text/plain; charset=windows-1252", Buffer.from("Köln 5 \x80", "latin1"));
      expect(await rowsOf({})).toEqual([{ text: "Köln 5 €" }]);
      answer = bytes("text/csv; charset=UTF-8", Buffer.from("stadt\nöööK€\n"));
      expect(await rowsOf({})).toEqual([{ stadt: "öööK€" }]);
      // JSON is UTF-8 whatever is declared.
      answer = bytes("application/json; charset=iso-8859-1", Buffer.from('{"stadt":"Köln"}'));
      expect(await rowsOf({})).toEqual([{ stadt: "Köln" }]);
      answer = bytes("text/csv; charset=klingon", latin);
      await expect(rowsOf({})).rejects.toMatchObject({
        ...{ code: "unknown_charset", isRetryable: false },
        message: expect.stringContaining("'klingon'"),
      });
    });

    it("numbers the empty and equal headings of CSV as read_file does", async () => {
      answer = typed("text/csv", "name,amount,amount,, x  y ,\nA,1,2,3,4,5\n");
      expect(await rowsOf({})).toEqual([
        { name: "A", amount: "1", amount_2: "2", column_4: "3", "x y": "4", column_6: "5" },
      ]);
    });

    it("names ten thousand columns of the same heading", async () => {
      answer = typed("text/csv", `${"a,".repeat(9_999)}a\n${"1,".repeat(9_999)}1\n`);
      const [row] = await rowsOf({});
      expect(Object.keys(row ?? {}).at(-1)).toBe("a_10000");
    });

    it("follows pages on the same host, and only there", async () => {
      answer = ({ url: path }, response) =>
        json({ rows: [{ path }], next: path === "/" ? "/second" : null })({} as Received, response);
      expect(await rowsOf({ rows: "rows", next: "next" })).toEqual([
        { path: "/" },
        { path: "/second" },
      ]);
      answer = json({ rows: [], next: "http://elsewhere.example/" });
      await expect(rowsOf({ rows: "rows", next: "next" })).rejects.toMatchObject({
        code: "next_page",
      });
      answer = json({ rows: [], next: "/again" });
      await expect(rowsOf({ rows: "rows", next: "next", max_pages: 3 })).rejects.toMatchObject({
        code: "too_many_pages",
      });
    });

    it("sends secrets in headers, and shows them nowhere", async () => {
      answer = (_request, response) => {
        response.statusCode = 403;
        response.end(`no: ${SECRET}`);
      };
      const failure = await rowsOf({ headers: { authorization: { secret: "crm" } } }).then(
        Promise.reject,
        (thrown) => thrown,
      );
      expect(received[0]?.headers.authorization).toBe(SECRET);
      expect(failure).toMatchObject({ code: "http_403", isRetryable: false });
      expect(`${failure.message}${failure.stack}${JSON.stringify(failure)}`).not.toContain(SECRET);
      await expect(rowsOf({ headers: { a: { secret: "gone" } } })).rejects.toMatchObject({
        code: "secret_not_found",
      });
    });

    it.each([408, 425, 429, 500, 503])(
      "may be repeated after status %d, when the answer says",
      async (status) => {
        answer = (_request, response) => {
          response.writeHead(status, { "retry-after": "12" }).end();
        };
        await expect(rowsOf({})).rejects.toMatchObject({
          ...{ code: `http_${status}`, isRetryable: true, retryAfterSeconds: 12 },
        });
      },
    );

    it("ends a request that takes too long, an answer that is too large, and one of a stopped run", async () => {
      answer = () => undefined;
      await expect(rowsOf({ request_timeout_seconds: 1 })).rejects.toMatchObject({
        ...{ code: "http_timeout", isRetryable: true },
      });
      const stop = new AbortController();
      const stopped = runStep(fetching, { settings: { url }, ...owner, signal: stop.signal });
      stopped.catch(() => undefined);
      await expect.poll(() => received.length).toBe(2);
      stop.abort(new Error("stopped"));
      await expect(stopped).rejects.toThrow("stopped");
      const piece = "x".repeat(1024 * 1024);
      answer = (_request, response) => {
        for (let index = 0; index < 18; index += 1) response.write(piece);
        response.end();
      };
      await expect(rowsOf({ format: "json" })).rejects.toMatchObject({
        code: "address_too_large",
        isRetryable: false,
      });
    });

    it("follows a redirect within its host, and none to another", async () => {
      answer = ({ url: path }, response) => {
        if (path === "/") response.writeHead(302, { location: "/there" }).end();
        else json([{ path }])({} as Received, response);
      };
      expect(await rowsOf({})).toEqual([{ path: "/there" }]);
      answer = (_request, response) => {
        response.writeHead(302, { location: "http://localhost:1/" }).end();
      };
      await expect(rowsOf({})).rejects.toMatchObject({ code: "redirected" });
    });

    it("refuses private addresses and unknown secrets when saved, and again when run", async () => {
      const headers = { a: { secret: "gone" } };
      expect(await check(fetching, { url: "http://10.0.0.1/{{ run.id }}", headers })).toEqual([
        { field: "url", message: expect.stringContaining("EGRESS_ALLOW") },
        { field: "headers.a", message: expect.stringContaining("'gone'") },
      ]);
      expect(await check(fetching, { url: "ftp://example.com" })).toMatchObject([{ field: "url" }]);
      expect(await check(fetching, { url, headers: { a: { secret: "crm" } } })).toEqual([]);
      await expect(rowsOf({ url: "http://169.254.169.254/latest" })).rejects.toMatchObject({
        ...{ code: "address_forbidden", isRetryable: false },
      });
      await expect(rowsOf({ url: "http://127.0.0.1:1/" })).rejects.toMatchObject({
        ...{ code: "address_failed", isRetryable: true },
      });
    });

    it("goes through ten pages without rows, and no further", async () => {
      const pages = (empty: number) => () => {
        const rows = received.length > empty ? [{ a: 1 }] : [];
        return json({ rows, next: rows.length === 0 ? "/again" : null });
      };
      answer = (request, response) => pages(9)()(request, response);
      expect(await rowsOf({ rows: "rows", next: "next" })).toEqual([{ a: 1 }]);
      received = [];
      answer = (request, response) => pages(10)()(request, response);
      await expect(rowsOf({ rows: "rows", next: "next" })).rejects.toMatchObject({
        code: "empty_pages",
      });
    });

    it("reads pages up to a size in all", async () => {
      const rows = Array.from({ length: 8 }, () => "x".repeat(MIB - 100));
      answer = json({ rows, next: "/again" });
      await expect(rowsOf({ rows: "rows", next: "next" })).rejects.toMatchObject({
        code: "answer_too_large",
        message: expect.stringContaining("WORKFLOW_MAX_BYTES"),
      });
      expect(received).toHaveLength(3);
    });

    const many = 300_000;
    const keys = () => `{${Array.from({ length: many }, (_, at) => `"k${at}":1`).join(",")}}`;
    const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    const hostile: readonly (readonly [string, string, string, () => string])[] = [
      ["brackets alone", "json", "answer_too_deep", () => "[".repeat(16 * MIB)],
      ["objects in objects", "json", "answer_too_deep", () => '{"a":'.repeat(300_000)],
      ["a deep row", "json", "answer_too_deep", () => `[1,${deep(400_000)}]`],
      [
        "depth behind the rows",
        "json",
        "answer_too_deep",
        () => `{"data":[],"b":${deep(400_000)}}`,
      ],
      ["a deep line", "x-ndjson", "answer_too_deep", () => `1\n${deep(400_000)}\n`],
      ["an object with many keys", "json", "answer_too_large", keys],
      ["a row with many keys", "json", "row_too_large", () => `[${keys()}]`],
      ["much before the rows", "json", "answer_too_large", () => `{"a":${keys()},"data":[]}`],
      ["much behind the rows", "json", "answer_too_large", () => `{"data":[],"a":${keys()}}`],
      ["a long text", "json", "answer_too_large", () => `"${'\\"'.repeat(8 * MIB - 8)}"`],
      [
        "a long name",
        "json",
        "answer_too_large",
        () => `{"${"a".repeat(8 * MIB)}"${":".repeat(MIB)}`,
      ],
      ["colons", "json", "invalid_json", () => `{"${"a".repeat(MIB / 2)}"${":".repeat(MIB / 3)}`],
      ["white space alone", "json", "answer_too_large", () => " ".repeat(16 * MIB)],
      ["rows that break off", "json", "invalid_json", () => `[${"1,".repeat(1_000)}`],
      ["a long line", "x-ndjson", "row_too_large", () => "1".repeat(16 * MIB)],
      ["many columns", "csv", "too_many_columns", () => `${"a,".repeat(90_000)}a\n`],
      ["commas alone", "csv", "row_too_large", () => ",".repeat(16 * MIB)],
      ["a field without an end", "csv", "row_too_large", () => `a\n"${"\n".repeat(16 * MIB - 8)}`],
      ["a large text", "plain", "row_too_large", () => "x".repeat(16 * MIB)],
    ];
    it.each(hostile)(
      "refuses %s",
      async (_name, type, code, text) => {
        const body = text();
        answer = typed(`${type === "json" ? "application" : "text"}/${type}`, body);
        const rows = body.includes('"data":[') ? "data" : undefined;
        await expect(rowsOf({ ...(rows !== undefined && { rows }) })).rejects.toMatchObject({
          ...{ code, isRetryable: false },
        });
      },
      60_000,
    );

    const large: readonly (readonly [string, string, () => string, number])[] = [
      [
        "JSON",
        "application/json",
        () => `[${'{"id":1,"text":"yyyy"},'.repeat(600_000)}1]`,
        600_001,
      ],
      ["JSON of tiny rows", "application/json", () => `[${"1,".repeat(900_000)}1]`, 900_001],
      ["NDJSON", "application/x-ndjson", () => "1\n".repeat(900_000), 900_000],
      ["CSV", "text/csv", () => `a,b\n${"1,2\n".repeat(500_000)}`, 500_000],
      [
        "CSV of long names",
        "text/csv",
        () =>
          `${Array.from({ length: 9_000 }, (_, at) => `${"n".repeat(90)}${at}`).join()}\n${`${",".repeat(8_999)}\n`.repeat(50)}`,
        50,
      ],
    ];
    it.each(large)(
      "serves others while it reads %s",
      async (_name, type, text, count) => {
        answer = typed(type, text());
        let turns = 0;
        let turnsAtLastRow = 0;
        let longest = 0;
        let atOnce = 0;
        let isOver = false;
        const tick = () => {
          turns += 1;
          if (!isOver) setImmediate(tick);
        };
        setImmediate(tick);
        let rows = 0;
        const push = async () => {
          rows += 1;
          atOnce = turns === turnsAtLastRow ? atOnce + 1 : 1;
          turnsAtLastRow = turns;
          longest = Math.max(longest, atOnce);
        };
        const context = {
          ...{ settings: fetching.schema.parse({ url }), signal: new AbortController().signal },
          ...{ run: owner.run, scope: {}, output: () => ({ push }) },
        } as unknown as StepContext;
        await fetching.run(context).finally(() => {
          isOver = true;
        });
        expect(rows).toBe(count);
        expect(longest).toBeLessThan(2_100);
      },
      60_000,
    );

    it("parses what is long in a process of its own", async () => {
      const members = Array.from({ length: 60_000 }, (_, at) => [`k${at}`, at]);
      const long = Object.fromEntries(members);
      answer = json({ data: [{ a: 1 }, long, [2]], next: null });
      expect(await rowsOf({ rows: "data", next: "next" })).toEqual([
        { a: 1 },
        long,
        { value: [2] },
      ]);
      expect(parsed).toEqual([JSON.stringify(long).length]);
      answer = typed("application/x-ndjson", `{"a":1}\n${JSON.stringify(long)}\n{"a":2}\n`);
      expect(await rowsOf({})).toEqual([{ a: 1 }, long, { a: 2 }]);
      answer = json({ data: long, next: "/" });
      await expect(rowsOf({ rows: "data", next: "next", max_pages: 1 })).rejects.toMatchObject({
        code: "too_many_pages",
      });
      answer = json({ more: long, data: [{ a: 1 }] });
      expect(await rowsOf({ rows: "data" })).toEqual([{ a: 1 }]);
      await expect(rowsOf({ rows: "none" })).rejects.toMatchObject({ code: "rows_not_found" });
      answer = typed(
        "application/json",
        `[1,{"a":${"9".repeat(70_000)}},{"a":"${"x".repeat(70_000)}"b}]`,
      );
      await expect(rowsOf({})).rejects.toMatchObject({
        code: "invalid_json",
        message: expect.stringContaining("row 3 of its answer"),
      });
    });

    it("reads 16 MB of rows without holding up others", async () => {
      const rows = Array.from({ length: 60_000 }, (_, id) => ({ id, text: "y".repeat(240) }));
      answer = json({ data: rows });
      let turns = 0;
      let isOver = false;
      const tick = () => {
        turns += 1;
        if (!isOver) setImmediate(tick);
      };
      setImmediate(tick);
      const read = await rowsOf({ rows: "data" });
      isOver = true;
      expect(read).toHaveLength(60_000);
      expect(read[59_999]).toEqual(rows[59_999]);
      expect(turns).toBeGreaterThan(100);
    }, 60_000);
  });

  describe("http_request", () => {
    const sending = httpRequest(services);

    it("lets no row choose the server that gets a secret", async () => {
      const headers = { authorization: { secret: "crm" } };
      const open = ["https://example.com{{ row.p }}", "https://{{ row.p }}/x", "{{ row.p }}"];
      const tricks = ["https://example.com:{{ row.p }}/", "https://example.com\\\\{{ row.p }}/x"];
      for (const moving of [...open, ...tricks]) {
        for (const kind of [sending, fetchHttp(services)]) {
          expect(await check(kind, { url: moving, headers })).toEqual([
            { field: "url", message: expect.stringContaining("before the first {{ }}") },
          ]);
        }
      }
      for (const fixed of [`${url}/{{ row.p }}`, `${url}?a={{ row.p }}`, url]) {
        expect(await check(sending, { url: fixed, headers })).toEqual([]);
      }
      expect(await check(sending, { url: `${url}{{ row.p }}`, headers: { a: "b" } })).toEqual([]);
      const port = (Number(new URL(url).port) % 60_000) + 1;
      const moving = runStep(sending, {
        settings: { url: `http://127.0.0.1:{{ row.p }}`, headers },
        rows: [{ p: `${port}/` }, { p: `${new URL(url).port}/` }],
        onRowError: "skip",
        ...owner,
      });
      expect(await moving).toMatchObject({
        rowErrors: 2,
        firstRowError: { code: "address_moved" },
      });
      expect(received).toEqual([]);
      const settings = { url: `${url}/{{ row.p }}`, headers };
      await runStep(sending, { settings, rows: [{ p: "@evil.example/" }], ...owner });
      expect(received).toMatchObject([
        { url: "/@evil.example/", headers: { authorization: SECRET } },
      ]);
    });

    it("sends its chain to addresses that start runs alone, sealed", async () => {
      const run = { ownerId: "usr_1", workflowId: "wf_own", chain: ["wf_before"] };
      const paths = [
        "/api/pipeline/webhook/wf_1",
        `/below/api/pipeline/webhook/whu_${"1".repeat(43)}/`,
        "/api/pipeline/workflows/wf_1/runs?a=1",
        "/api/pipeline/workflows/wf_1",
        "/elsewhere?/api/pipeline/webhook/wf_1",
      ];
      for (const path of paths) {
        await runStep(sending, { settings: { url: `${url}${path}` }, rows: [{}], run });
      }
      const sent = received.map(({ headers }) => headers["x-workflow-chain"]);
      expect(sent.map((header) => header !== undefined)).toEqual([true, true, true, false, false]);
      expect(JSON.stringify(received)).not.toContain("wf_before");
    });

    it("sends each row with its own key, and passes it on with the answer", async () => {
      answer = json({ ok: true });
      const settings = { url: `${url}/{{ row.id }}`, method: "PUT", output: "sent" };
      const rows = [{ id: "a" }, { id: "b" }];
      const done = await runStep(sending, {
        settings,
        rows,
        stepId: "send",
        run: { ...owner.run, id: "run_1" },
      });
      const sent = { status: 200, body: { ok: true } };
      expect(done.outputs.main).toEqual([
        { id: "a", sent },
        { id: "b", sent },
      ]);
      const seen = received.map(({ method, url: path, headers, body }) => [
        ...[method, path, headers["idempotency-key"], headers["content-type"], body],
      ]);
      expect(seen.sort()).toEqual([
        ["PUT", "/a", "run_1:send:1", "application/json", '{"id":"a"}'],
        ["PUT", "/b", "run_1:send:2", "application/json", '{"id":"b"}'],
      ]);
    });

    it("repeats a row under the same key, and makes a row error of what no repetition helps", async () => {
      answer = ({ body }, response) => {
        const status = received.length < 3 ? 503 : 200;
        response.statusCode = body.includes("bad") ? 422 : status;
        response.end();
      };
      const rows = [{ id: "a" }, { id: "bad" }];
      const settings = { url, concurrency: 1 };
      const done = await runStep(sending, { settings, rows, onRowError: "skip", ...owner });
      expect(done.outputs.main).toEqual([{ id: "a" }]);
      expect(done.firstRowError).toMatchObject({ row: 2, code: "http_422" });
      expect(received).toHaveLength(4);
      const keys = received.map(({ headers }) => headers["idempotency-key"]);
      expect(new Set(keys.slice(0, 3)).size).toBe(1);
    });

    it("sends batches in the order of the rows", async () => {
      const rows = Array.from({ length: 25 }, (_, id) => ({ id }));
      const settings = { url, batch: 10 };
      const done = await runStep(sending, {
        settings,
        rows,
        stepId: "send",
        run: { ...owner.run, id: "run_2" },
      });
      expect(done.outputs.main).toEqual(rows);
      const sent = received.map(({ headers, body }) => [
        headers["idempotency-key"],
        JSON.parse(body).length,
      ]);
      expect(sent.sort()).toEqual([
        ["run_2:send:1-10", 10],
        ["run_2:send:11-20", 10],
        ["run_2:send:21-25", 5],
      ]);
    });

    it("keeps an answer that nests too deeply as text, and refuses one that is too large", async () => {
      const rows = [{ id: "a" }];
      const settings = { url, output: "sent" };
      const deepest = "[".repeat(128) + "]".repeat(128);
      const bodyOf = async (text: string) => {
        answer = typed("application/json", text);
        const done = await runStep(sending, { settings, rows, ...owner });
        return (done.outputs.main?.[0]?.["sent"] as JsonObject | undefined)?.["body"];
      };
      expect(await bodyOf(deepest)).toEqual(JSON.parse(deepest));
      expect(await bodyOf(`[${deepest}]`)).toBe(`[${deepest}]`);
      const deep = "[".repeat(400_000) + "]".repeat(400_000);
      expect(await bodyOf(deep)).toBe(deep);
      await expect(bodyOf(" ".repeat(MIB + 1))).rejects.toMatchObject({ code: "row_too_large" });
    });

    it("parses a long answer in a process of its own, and keeps it exactly", async () => {
      const members = Array.from({ length: 50_000 }, (_, at) => `"${at}":${at}`).join(",");
      const long = `{"id":12345678901234567890,"of":{${members}},"text":"\\u00e9\\n \u{1F600}"}`;
      const exact = { ...JSON.parse(long), id: "12345678901234567890" };
      const settings = { url, output: "sent" };
      const rows = [{ a: 1, sent: "before", b: 2 }];
      answer = typed("application/json", long);
      const done = await runStep(sending, { settings, rows, ...owner });
      const sent = { status: 200, body: exact };
      expect(done.outputs.main).toEqual([{ a: 1, sent, b: 2 }]);
      expect(Object.keys(done.outputs.main[0] ?? {})).toEqual(["a", "sent", "b"]);
      expect(parsed).toEqual([long.length]);

      const broken = long.slice(0, -1);
      answer = typed("application/json", broken);
      const kept = await runStep(sending, { settings, rows, ...owner });
      expect(kept.outputs.main).toEqual([{ a: 1, sent: { status: 200, body: broken }, b: 2 }]);
    });

    it("refuses a long answer whose numbers take more space than a row has", async () => {
      answer = typed("application/json", `[${"1e20,".repeat(100_000)}1]`);
      const settings = { url, output: "sent" };
      await expect(runStep(sending, { settings, rows: [{}], ...owner })).rejects.toMatchObject({
        code: "row_too_large",
      });
    });

    it("writes no large answer with every row of a batch", async () => {
      answer = typed("application/json", `"${"x".repeat(MIB / 2)}"`);
      const rows = Array.from({ length: 100 }, (_, id) => ({ id }));
      const settings = { url, batch: 100, output: "sent" };
      await expect(runStep(sending, { settings, rows, ...owner })).rejects.toMatchObject({
        code: "row_too_large",
        message: expect.stringContaining("'batch'"),
      });
    });

    it("parses one of many answers in a turn of the event loop", async () => {
      let turns = 0;
      let isOver = false;
      const tick = () => {
        turns += 1;
        if (!isOver) setImmediate(tick);
      };
      setImmediate(tick);
      const read = answerReader({ maxDepth: 128, rewrite: rowProcess.rewrite });
      const { signal } = new AbortController();
      const bodies = Array.from({ length: 30 }, () => bodyOf(`[${"1,".repeat(10_000)}1]`));
      async function* bodyOf(text: string) {
        yield Buffer.from(text);
      }
      const response = { status: 200, header: () => undefined, cancel: () => undefined };
      const parsedAt = await Promise.all(
        bodies.map(async (one) => {
          await read({ ...response, body: one }, { rows: 1, signal });
          return turns;
        }),
      );
      isOver = true;
      expect(new Set(parsedAt).size).toBe(30);
    });

    it("only tells in a test", async () => {
      const rows = [{ id: "a" }];
      const done = await runStep(sending, { settings: { url }, rows, isTest: true, ...owner });
      expect(received).toHaveLength(0);
      expect(done.outputs.main).toEqual(rows);
      expect(done.told).toEqual([`POST ${url} would be called.`]);
    });
  });
});
