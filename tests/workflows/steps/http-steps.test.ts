import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { fetchHttpStep as fetchHttp } from "../../../src/workflows/steps/fetch-http.ts";
import { httpRequestStep as httpRequest } from "../../../src/workflows/steps/http-request.ts";
import type { CheckContext, StepKind } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { simpleTexts } from "../../support/workflows/simple-texts.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const SECRET = "canary-of-the-address-91f2";

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
    answer = (_request, response) => response.end("{}");
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const services = {
    egress: createEgress({ allow: ["127.0.0.1"] }),
    rowProcess: simpleTexts,
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

    it("makes one row of an object, and says where no rows are", async () => {
      answer = json({ data: { a: 1 } });
      expect(await rowsOf({ rows: "data" })).toEqual([{ a: 1 }]);
      await expect(rowsOf({ rows: "items" })).rejects.toMatchObject({
        code: "rows_not_found",
        message: expect.stringContaining("'items'"),
      });
    });

    it("reads CSV and NDJSON as their server declares them, and a text as one row", async () => {
      const typed =
        (type: string, text: string) => (_request: Received, response: ServerResponse) => {
          response.setHeader("content-type", type);
          response.end(text);
        };
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

    it("reads 16 MB of rows without holding up others", async () => {
      const rows = Array.from({ length: 60_000 }, (_, id) => ({ id, text: "y".repeat(240) }));
      answer = json({ data: rows });
      let turns = 0;
      const ticks = setInterval(() => {
        turns += 1;
      }, 1);
      const read = await rowsOf({ rows: "data" });
      clearInterval(ticks);
      expect(read).toHaveLength(60_000);
      expect(read[59_999]).toEqual(rows[59_999]);
      expect(turns).toBeGreaterThan(20);
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

    it("only tells in a test", async () => {
      const rows = [{ id: "a" }];
      const done = await runStep(sending, { settings: { url }, rows, isTest: true, ...owner });
      expect(received).toHaveLength(0);
      expect(done.outputs.main).toEqual(rows);
      expect(done.told).toEqual([`POST ${url} would be called.`]);
    });
  });
});
