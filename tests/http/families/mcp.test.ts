import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/lib/json/json.ts";
import { callGateway } from "../../support/clients/call-gateway.ts";
import { findMcpFault } from "../../support/mcp-schemas.ts";
import { passage, testTool } from "../../support/stages/assistant-stage.ts";
import {
  type BoundKey,
  type Json,
  McpStage,
  modern,
} from "../../support/stages/tools/mcp-stage.ts";

const NUMBERED = { type: "object", properties: { limit: { type: "integer" } } } as const;

describe("POST /mcp", () => {
  let stage: McpStage;
  let bound: BoundKey;
  let ran: Json[];

  const find = testTool(
    "find_files",
    async (args) => {
      ran.push(args);
      return { text: "Two files." };
    },
    { parameters: NUMBERED },
  );

  beforeAll(async () => {
    stage = await McpStage.open({ CORS_ORIGINS: "https://console.example" });
    bound = await stage.bindKey();
  });
  beforeEach(() => {
    ran = [];
    stage.found = [];
    stage.tools.splice(0, stage.tools.length, find);
  });
  afterAll(() => stage?.close());

  describe("with the versions that begin with initialize", () => {
    it.each([
      ["2025-03-26", "2025-03-26"],
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["2026-07-28", "2025-11-25"],
      ["1999-01-01", "2025-11-25"],
    ])("agrees with a client that asks for %s on %s", async (asked, agreed) => {
      const params = {
        protocolVersion: asked,
        capabilities: {},
        clientInfo: { name: "a", version: "1" },
      };
      const response = await stage.post(bound.key, {
        jsonrpc: "2.0",
        id: "first",
        method: "initialize",
        params,
      });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("mcp-session-id")).toBeNull();
      const body = await response.json();
      expect(body).toMatchObject({
        jsonrpc: "2.0",
        id: "first",
        result: {
          protocolVersion: agreed,
          capabilities: { tools: {} },
          serverInfo: { name: "inference-gateway", version: stage.served.deps.version },
        },
      });
      if (agreed === "2025-03-26") return;
      expect(findMcpFault("InitializeResult", (body as { result: unknown }).result, agreed)).toBe(
        undefined,
      );
    });

    it("lists the tools with schemas and hints, and calls one", async () => {
      stage.tools.push(
        testTool("save", async () => ({ text: "" }), { level: "write", source: "mcp" }),
        testTool("wipe", async () => ({ text: "" }), { level: "full_auto" }),
      );
      const { body } = await stage.ask(bound.key, "tools/list");
      expect(body.result.tools).toEqual([
        {
          name: "find_files",
          description: "Does find_files.",
          inputSchema: NUMBERED,
          annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
        },
        expect.objectContaining({
          name: "save",
          annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
        }),
        expect.objectContaining({
          name: "wipe",
          annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
        }),
      ]);
      for (const version of ["2025-06-18", "2025-11-25"]) {
        expect(findMcpFault("ListToolsResult", body.result, version)).toBe(undefined);
      }
      const called = await stage.call(bound.key, "find_files", { limit: 3 });
      expect(called).toEqual({
        status: 200,
        body: {
          jsonrpc: "2.0",
          id: 1,
          result: { content: [{ type: "text", text: "Two files." }], isError: false },
        },
      });
      expect(ran).toEqual([{ limit: 3 }]);
      expect(findMcpFault("CallToolResult", called.body.result, "2025-11-25")).toBe(undefined);
    });

    it("answers a ping, and takes notifications and answers of a client with 202", async () => {
      expect((await stage.ask(bound.key, "ping")).body.result).toEqual({});
      for (const message of [
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
        { jsonrpc: "2.0", method: "notifications/of-tomorrow" },
        { jsonrpc: "2.0", id: 5, result: {} },
        { jsonrpc: "2.0", id: 5, error: { code: 1, message: "no" } },
      ]) {
        const response = await stage.post(bound.key, message);
        expect([response.status, await response.text()]).toEqual([202, ""]);
      }
    });

    it("answers an unknown method with -32601 and parameters of a wrong shape with -32602", async () => {
      for (const method of ["resources/list", "prompts/list", "server/discover", "constructor"]) {
        const { status, body } = await stage.ask(bound.key, method);
        expect([method, status, body.error.code]).toEqual([method, 200, -32601]);
        expect(findMcpFault("JSONRPCErrorResponse", body, "2025-11-25")).toBe(undefined);
      }
      const wrong: readonly (readonly [string, unknown])[] = [
        ["tools/list", { cursor: "no cursor" }],
        ["tools/list", [1]],
        ["tools/call", "x"],
        ["tools/call", {}],
        ["tools/call", { name: 7 }],
        ["tools/call", { name: "find_files", arguments: [1] }],
        ["tools/call", { name: "find_files", arguments: null }],
        ["initialize", {}],
      ];
      for (const [method, params] of wrong) {
        const { status, body } = await stage.ask(bound.key, method, params as Json);
        expect([method, params, status, body.error?.code]).toEqual([method, params, 200, -32602]);
      }
      expect(ran).toEqual([]);
    });

    it("runs no tool with a number that parsing would change", async () => {
      const calling = (args: string) =>
        stage.post(
          bound.key,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_files","arguments":${args}}}`,
        );
      for (const limit of ["9007199254740993", "-9007199254740993", "1e400"]) {
        const { result } = (await (await calling(`{"limit":${limit}}`)).json()) as Json;
        expect([limit, result]).toMatchObject([
          limit,
          { isError: true, content: [{ text: expect.stringContaining("'limit'") }] },
        ]);
      }
      expect(ran).toEqual([]);
      // Of equal names the last counts, as everywhere.
      await calling('{"limit":9007199254740993,"limit":4}');
      await calling('{"limit":9007199254740991}');
      expect(ran).toEqual([{ limit: 4 }, { limit: 9007199254740991 }]);
    });

    it("echoes ids of texts and integers, and refuses others", async () => {
      for (const id of ["", "a", "ünï", 0, -1, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        const response = await stage.post(bound.key, { jsonrpc: "2.0", id, method: "ping" });
        expect(await response.json()).toEqual({ jsonrpc: "2.0", id, result: {} });
      }
      for (const id of ["null", "1.5", "true", "[1]", "{}", "1e400", "9007199254740993"]) {
        const response = await stage.post(
          bound.key,
          `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
        );
        expect([id, response.status, await response.json()]).toEqual([
          id,
          400,
          { jsonrpc: "2.0", error: { code: -32600, message: expect.any(String) } },
        ]);
      }
    });
  });

  it("passes on media and structured content of tool servers, in the form of each version", async () => {
    const parts = [
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "resource", resource: { uri: "u:a", text: "a" } },
    ];
    const outputSchema = { type: "object", properties: { n: { type: "integer" } } };
    let structured: JsonValue = { n: 1 };
    stage.tools.push(
      testTool("show", async () => ({ text: "for models", content: { parts, structured } }), {
        outputSchema,
      }),
    );
    const listed = await stage.ask(bound.key, "tools/list");
    expect(listed.body.result.tools[1]).toMatchObject({ name: "show", outputSchema });
    const result = { content: parts, structuredContent: { n: 1 }, isError: false };
    expect((await stage.call(bound.key, "show")).body.result).toEqual(result);
    const { message, headers } = modern("tools/call", { name: "show" });
    const callModern = async () =>
      ((await (await stage.post(bound.key, message, { headers })).json()) as Json)["result"];
    expect(await callModern()).toMatchObject(result);
    expect(findMcpFault("CallToolResult", await callModern(), "2026-07-28")).toBe(undefined);
    structured = [1];
    expect(await callModern()).toMatchObject({ structuredContent: [1] });
    const old = (await stage.call(bound.key, "show")).body.result;
    expect(old).toEqual({ content: parts, isError: false });
    expect(findMcpFault("CallToolResult", old, "2025-06-18")).toBe(undefined);
  });

  it("passes on numbers in structured content with all their digits", async () => {
    const structuredText = '{"message_id":1234567890123456789}';
    const text = { type: "text", text: structuredText };
    const content = { parts: [text], structured: JSON.parse(structuredText), structuredText };
    stage.tools.push(testTool("post", async () => ({ text: structuredText, content })));
    const { message, headers } = modern("tools/call", { name: "post" });
    const old = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "post" } };
    const answers = [
      await stage.post(bound.key, message, { headers }),
      await stage.post(bound.key, old),
    ];
    for (const answer of answers) {
      const body = await answer.text();
      expect(body).toContain(`"structuredContent":${structuredText}`);
      expect(JSON.parse(body).result).toMatchObject({
        content: [text],
        structuredContent: content.structured,
        isError: false,
      });
    }
    content.structured = [1];
    expect(await (await stage.post(bound.key, old)).text()).not.toContain("structuredContent");
  });

  describe("with 2026-07-28", () => {
    const ask = async (...given: Parameters<typeof modern>) => {
      const { message, headers } = modern(...given);
      const response = await stage.post(bound.key, message, { headers });
      return { status: response.status, body: (await response.json()) as Json };
    };

    it("is discovered, lists and calls, each answer complete by itself", async () => {
      const serverInfo = { name: "inference-gateway", version: expect.any(String) };
      const whole = {
        resultType: "complete",
        _meta: { "io.modelcontextprotocol/serverInfo": expect.objectContaining(serverInfo) },
      };
      const cached = { ttlMs: expect.any(Number), cacheScope: "private" };
      const discovered = await ask("server/discover");
      expect(discovered).toMatchObject({
        status: 200,
        body: {
          id: "m1",
          result: {
            ...whole,
            ...cached,
            supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
            capabilities: { tools: {} },
          },
        },
      });
      const listed = await ask("tools/list");
      expect(listed.body["result"]).toMatchObject({
        ...whole,
        ...cached,
        tools: [{ name: "find_files" }],
      });
      const called = await ask("tools/call", { name: "find_files", arguments: { limit: 1 } });
      expect(called.body["result"]).toMatchObject({
        ...whole,
        content: [{ type: "text", text: "Two files." }],
        isError: false,
      });
      expect(ran).toEqual([{ limit: 1 }]);
      const answers = [
        ["DiscoverResult", discovered],
        ["ListToolsResult", listed],
        ["CallToolResult", called],
      ] as const;
      for (const [type, { body }] of answers) {
        expect(findMcpFault(type, body["result"], "2026-07-28")).toBe(undefined);
      }
    });

    it("checks that marked arguments are repeated in headers", async () => {
      const properties = {
        region: { type: "string", "x-mcp-header": "Region" },
        limit: { type: "integer", "x-mcp-header": "Limit" },
        where: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry" } } },
      };
      stage.tools.push(
        testTool("deploy", async () => ({ text: "done" }), {
          parameters: { type: "object", properties },
        }),
      );
      const args = { region: "Zürich", limit: 42, where: { dry: true } };
      const call = async (marked: Record<string, string>, given: Json = args) => {
        const { message, headers } = modern("tools/call", { name: "deploy", arguments: given });
        const sent = { headers: { ...headers, ...marked } };
        const response = await stage.post(bound.key, message, sent);
        const body = (await response.json()) as Json;
        return [response.status, (body["error"] as Json | undefined)?.["code"]];
      };
      const region = `=?base64?${Buffer.from("Zürich").toString("base64")}?=`;
      const whole = {
        "Mcp-Param-Region": region,
        "Mcp-Param-Limit": "42.0",
        "mcp-param-dry": "true",
      };
      expect(await call(whole)).toEqual([200, undefined]);
      expect(await call({}, { where: {} })).toEqual([200, undefined]);
      for (const wrong of [
        { "Mcp-Param-Region": "Zurich" },
        { "Mcp-Param-Region": "=?base64?%%?=" },
        { "Mcp-Param-Region": region.replace("=?=", "?=") },
        { "Mcp-Param-Limit": "43" },
        { "Mcp-Param-Limit": "" },
        { "mcp-param-dry": "True" },
      ]) {
        expect([wrong, await call({ ...whole, ...wrong })]).toEqual([wrong, [400, -32020]]);
      }
      expect(await call({ "Mcp-Param-Limit": "42" }, { limit: 42, region: "a" })).toEqual([
        400, -32020,
      ]);
      const literal = { region: "=?base64?Wg==" };
      expect(await call({ "Mcp-Param-Region": literal.region }, literal)).toEqual([200, undefined]);
      // Older versions know no such headers.
      expect((await stage.call(bound.key, "deploy", args)).body.result.isError).toBe(false);
    });

    it("answers a method that it does not serve with 404 and -32601", async () => {
      for (const method of ["initialize", "ping", "resources/list", "subscriptions/listen"]) {
        const { status, body } = await ask(method);
        expect([method, status, body]).toMatchObject([method, 404, { error: { code: -32601 } }]);
        expect(findMcpFault("JSONRPCErrorResponse", body, "2026-07-28")).toBe(undefined);
      }
    });

    it("answers the errors of headers and versions with 400 and the request's id", async () => {
      const { message, headers } = modern("tools/list");
      const mismatch = await stage.post(bound.key, message, {
        headers: { ...headers, "Mcp-Method": "tools/call" },
      });
      expect([mismatch.status, await mismatch.json()]).toMatchObject([
        400,
        { id: "m1", error: { code: -32020 } },
      ]);
      const version = { "io.modelcontextprotocol/protocolVersion": "2030-01-01" };
      const unknown = modern("tools/list", {}, version);
      const refused = await stage.post(bound.key, unknown.message, {
        headers: { ...unknown.headers, "MCP-Protocol-Version": "2030-01-01" },
      });
      const { status, body } = { status: refused.status, body: await refused.json() };
      expect([status, body]).toMatchObject([
        400,
        { id: "m1", error: { code: -32022, data: { requested: "2030-01-01" } } },
      ]);
      expect(findMcpFault("UnsupportedProtocolVersionError", body, "2026-07-28")).toBe(undefined);
    });

    it("takes notifications with 202, and an unknown tool for -32602", async () => {
      const { message, headers } = modern("notifications/cancelled", { requestId: "m1" });
      const { id: _none, ...notification } = message;
      expect((await stage.post(bound.key, notification, { headers })).status).toBe(202);
      const { status, body } = await ask("tools/call", { name: "no_such_tool" });
      expect([status, body]).toMatchObject([200, { error: { code: -32602 } }]);
    });
  });

  describe("M01: pages and hosts", () => {
    it.each([
      ["https://evil.example", 403],
      ["null", 403],
      ["https://console.example.evil.example", 403],
      ["https://xconsole.example", 403],
      ["http://console.example", 403],
      ["https://console.example:444", 403],
      ["file://", 403],
      ["", 403],
      ["https://console.example", 200],
    ])("answers a page of %j with %i", async (origin, status) => {
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      const headers = { origin, authorization: `Bearer ${bound.key}` };
      const answer = await callGateway(stage.port, { path: "/mcp", headers, body: ping });
      expect(answer.status).toBe(status);
      if (status === 200) return;
      expect(answer.json()).toMatchObject({
        error: { type: "permission_error", code: "insufficient_permission", param: "Origin" },
      });
      // Before its key is looked at.
      const stranger = { path: "/mcp", headers: { origin, authorization: undefined }, body: ping };
      expect((await callGateway(stage.port, stranger)).status).toBe(403);
    });

    it("lets pages of the same origin and clients without one call", async () => {
      const { host } = new URL(stage.url);
      for (const origin of [`http://${host}`, undefined]) {
        const headers = { host, origin, authorization: `Bearer ${bound.key}` };
        const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
        const answer = await callGateway(stage.port, { path: "/mcp", headers, body: ping });
        expect([origin, answer.status]).toEqual([origin, 200]);
      }
    });

    it("does so on no other path", async () => {
      const headers = { origin: "https://evil.example", authorization: `Bearer ${bound.key}` };
      const answer = await callGateway(stage.port, { method: "GET", path: "/v1/tools", headers });
      expect(answer.status).toBe(200);
    });
  });

  describe("M03 and H05, H06, H09: bodies", () => {
    it.each([
      ["no JSON", "{", "invalid_json"],
      ["nothing", "", "invalid_json"],
      ["null", "null", "invalid_value"],
      ["a text", '"x"', "invalid_value"],
      ["a number", "1", "invalid_value"],
      ["an empty batch", "[]", "invalid_value"],
      ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "invalid_value"],
      ["10,000 levels", "[".repeat(10_000) + "]".repeat(10_000), "invalid_json"],
      [
        "10,000 levels of arguments",
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_files","arguments":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}}`,
        "invalid_json",
      ],
    ])("are refused with 400 in the standard form for %s", async (_, body, code) => {
      const response = await stage.post(bound.key, body);
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          error: {
            message: expect.any(String),
            type: "invalid_request_error",
            param: null,
            code,
          },
        },
      ]);
      expect(ran).toEqual([]);
    });

    it("are refused with -32600 for an object that is no message", async () => {
      for (const body of [
        {},
        { jsonrpc: "1.0", id: 1, method: "ping" },
        { jsonrpc: "2.0", id: 1 },
      ]) {
        const response = await stage.post(bound.key, body);
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { error: { code: -32600 } },
        ]);
      }
    });

    it("are refused with 413 beyond 4 MiB, and with 415 as anything but JSON", async () => {
      const long = { jsonrpc: "2.0", id: 1, method: "ping", params: { a: "x".repeat(10_000_000) } };
      const headers = { authorization: `Bearer ${bound.key}` };
      const answer = await callGateway(stage.port, { path: "/mcp", headers, body: long });
      expect(answer.status).toBe(413);
      const text = await stage.post(bound.key, "{}", { headers: { "content-type": "text/plain" } });
      expect(text.status).toBe(415);
    });

    it("are data alone: names of prototypes change nothing", async () => {
      const args = '{"__proto__":{"limit":5},"constructor":{"prototype":{"limit":6}}}';
      const message = `{"__proto__":{"method":"ping"},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"other"},"name":"find_files","arguments":${args}}}`;
      const response = await stage.post(bound.key, message);
      expect(await response.json()).toMatchObject({ result: { isError: false } });
      expect(Object.keys(ran[0] ?? {})).toEqual(["__proto__", "constructor"]);
      expect(ran[0]?.["limit"]).toBeUndefined();
      for (const name of ["__proto__", "constructor", "toString"]) {
        expect((await stage.call(bound.key, name)).body.error.code).toBe(-32602);
      }
      expect((await stage.call(bound.key, "find_files")).body.result.isError).toBe(false);
    });
  });

  it("serves POST alone, and says so", async () => {
    for (const method of ["GET", "DELETE", "PUT", "PATCH", "HEAD"]) {
      const response = await fetch(stage.url, {
        method,
        headers: { authorization: `Bearer ${bound.key}`, accept: "text/event-stream" },
      });
      expect([method, response.status, response.headers.get("allow")]).toEqual([
        method,
        405,
        "POST",
      ]);
    }
  });

  it("knows no sessions: an id of one is ignored", async () => {
    const headers = { "mcp-session-id": "of-another-server" };
    const { status, body } = await stage.ask(bound.key, "tools/list", {}, { headers });
    expect([status, body.result.tools.length]).toEqual([200, 1]);
  });

  it.each(["application/json", "text/event-stream", "text/html", "*/*", ""])(
    "answers JSON to a client that accepts %j",
    async (accept) => {
      const response = await stage.post(
        bound.key,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "find_files" } },
        { headers: { accept } },
      );
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ id: 1, result: { isError: false } });
    },
  );

  it("takes the key as x-api-key too, and tells one that has none how to authenticate", async () => {
    const headers = { "x-api-key": bound.key };
    expect((await stage.ask("", "ping", {}, { headers })).status).toBe(200);
    const refused = await stage.post("", { jsonrpc: "2.0", id: 1, method: "ping" });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });

  it("has no tools for a session and for a key that is bound to none, and says why", async () => {
    const unbound = await stage.bindKey({ assistant_id: null });
    const params = { protocolVersion: "2025-11-25" };
    for (const credential of [stage.token, unbound.key]) {
      expect((await stage.ask(credential, "tools/list")).body.result).toEqual({ tools: [] });
      const { body } = await stage.ask(credential, "initialize", params);
      expect(body.result.instructions).toMatch(/bound to an assistant/);
      expect((await stage.call(credential, "find_files")).body.error.code).toBe(-32602);
    }
    expect(ran).toEqual([]);
  });

  it("M02: names tool, argument, expected and received type, and converts nothing", async () => {
    const { body } = await stage.call(bound.key, "find_files", { limit: "3" });
    expect(body.result).toEqual({
      content: [
        {
          type: "text",
          text: "Tool 'find_files': argument 'limit' must be integer, got string.",
        },
      ],
      isError: true,
    });
    expect(ran).toEqual([]);
  });

  it("runs search_knowledge, whose passages are its text", async () => {
    stage.found = [passage("The warranty lasts two years.")];
    const { id } = await stage.manage("POST", "/v1/vector_stores", { name: "handbooks" });
    const tool_resources = { file_search: { vector_store_ids: [id] } };
    const assistant = await stage.createAssistant({}, { tool_resources });
    const knowing = await stage.bindKey({}, assistant);
    const { body } = await stage.ask(knowing.key, "tools/list");
    expect(body.result.tools.map(({ name }: Json) => name)).toEqual([
      "find_files",
      "search_knowledge",
    ]);
    const called = await stage.call(knowing.key, "search_knowledge", { query: "warranty" });
    expect(called.body.result.content[0].text).toBe(
      "[1] handbook.pdf\nThe warranty lasts two years.",
    );
  });
});
