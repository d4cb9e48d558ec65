import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEgress, type EgressOptions } from "../../../../src/lib/egress/egress.ts";
import type { JsonObject, JsonValue } from "../../../../src/lib/json/json.ts";
import { createToolServerClient } from "../../../../src/tools/servers/client/create-tool-server-client.ts";
import type { ToolServerLink } from "../../../../src/tools/servers/client/tool-server-client.ts";
import { ToolServerFailure } from "../../../../src/tools/servers/client/tool-server-failure.ts";

/** What a tool server answers to a method; undefined: as an older server that works. */
interface Given {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly result?: JsonValue;
  readonly error?: JsonObject;
  /** In place of a message; `ID` stands for the id of the request. */
  readonly body?: string;
}

const JSON_TYPE = { "content-type": "application/json" };
const STREAM = { "content-type": "text/event-stream" };
const USUAL: Readonly<Record<string, Given>> = {
  "server/discover": { error: { code: -32601, message: "Method not found" } },
  initialize: { result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} } },
  "notifications/initialized": { status: 202, body: "" },
  "tools/list": { result: { tools: [{ name: "one", inputSchema: { type: "object" } }] } },
  "tools/call": { result: { content: [{ type: "text", text: "done" }] } },
};

let given: Readonly<Record<string, Given>> = {};
let asked: string[] = [];
let versions: (string | undefined)[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(pieces).toString());
    asked.push(method);
    versions.push(request.headers["mcp-protocol-version"] as string | undefined);
    const { status = 200, headers, body, ...answer } = given[method] ?? USUAL[method] ?? {};
    response.writeHead(status, { ...JSON_TYPE, ...headers });
    const message = JSON.stringify({ jsonrpc: "2.0", id, ...answer });
    response.end(body === undefined ? message : body.replaceAll("ID", String(id)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const newClient = (options: EgressOptions = { allow: ["127.0.0.1"] }) =>
  createToolServerClient({
    egress: createEgress(options),
    info: { name: "inference-gateway", version: "1.0.0" },
  });
const { signal } = new AbortController();

function linkTo(more: Partial<ToolServerLink> = {}): ToolServerLink {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, headers: {}, timeoutMs: 30_000, ...more };
}

function answering(next: Readonly<Record<string, Given>>) {
  given = next;
  asked = [];
  versions = [];
  return newClient();
}

/** The reason and the text of a failure; fails when there is none. */
async function failureOf(work: Promise<unknown>): Promise<readonly [string, string]> {
  const outcome = await work.then(
    (value) => `it succeeded: ${JSON.stringify(value)}`,
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof ToolServerFailure) return [outcome.reason, outcome.message];
  throw new Error(`expected a ToolServerFailure, but: ${String(outcome)}`);
}

const listing = async (next: Readonly<Record<string, Given>>) =>
  (await answering(next).list(linkTo(), signal)).tools;
const calling = (next: Readonly<Record<string, Given>>) =>
  answering(next).call(linkTo(), { name: "one", args: {} }, signal);

describe("A tool server is spoken to in the version that it shares, where", () => {
  const unsupported = (supported: JsonValue) => ({
    status: 400,
    error: { code: -32022, message: "Unsupported", data: { supported } },
  });
  it.each<[what: string, discovered: Given]>([
    ["it names older versions only", { result: { supportedVersions: ["2025-06-18"] } }],
    ["it refuses the newest one for an older one", unsupported(["2025-06-18"])],
    ["it refuses the newest one without a list", unsupported(null)],
    ["it has no such method", { status: 404, error: { code: -32601, message: "None" } }],
    ["it wants a session", { status: 400, error: { code: -32000, message: "No session" } }],
    ["it answers with a page", { headers: { "content-type": "text/html" }, body: "<p>Hello</p>" }],
    ["it answers with nothing", { status: 202, body: "" }],
    ["it answers with no JSON", { body: "Hello" }],
    ["it does not allow the method", { status: 405, body: "" }],
  ])("%s", async (_what, discovered) => {
    expect(await listing({ "server/discover": discovered })).toHaveLength(1);
    expect(asked).toEqual([
      "server/discover",
      "initialize",
      "notifications/initialized",
      "tools/list",
    ]);
    expect(versions).toEqual(["2026-07-28", undefined, "2025-06-18", "2025-06-18"]);
  });

  it("its confirmation of the handshake is an error, which does not matter", async () => {
    const refused = { "notifications/initialized": { status: 500, body: "" } };
    expect(await listing(refused)).toHaveLength(1);
  });
});

describe("A handshake fails", () => {
  const versions = (...supportedVersions: string[]) => ({
    error: { code: -32022, message: "Unsupported", data: { supported: supportedVersions } },
  });
  it.each<[what: string, given: Readonly<Record<string, Given>>, reason: string, text: RegExp]>([
    [
      "with an unknown version",
      { initialize: { result: { protocolVersion: "2099-\u001b[1m01" } } },
      "protocol",
      /version 2099-01 of the protocol, which is unknown/,
    ],
    ["without a version", { initialize: { result: {} } }, "protocol", /names no version/],
    [
      "when only newer versions are known",
      { "server/discover": versions("2099-01-01", "2100-01-01") },
      "protocol",
      /version 2099-01-01, 2100-01-01/,
    ],
    [
      "when it is refused",
      { initialize: { error: { code: -1, message: "Ask bob at http://10.0.0.1/\u0007" } } },
      "refused",
      /refused the handshake: Ask bob at \[address\] \(error -1\)/,
    ],
    [
      "when it is refused without a word",
      { initialize: { error: { code: -1 } } },
      "refused",
      /handshake: error -1$/,
    ],
    [
      "when nothing is there",
      { "server/discover": { status: 404, body: "" }, initialize: { status: 404, body: "" } },
      "refused",
      /status 404. Check that its URL/,
    ],
    [
      "with a session that cannot be sent back",
      { initialize: { ...USUAL["initialize"], headers: { "mcp-session-id": "a b" } } },
      "protocol",
      /session id/,
    ],
    [
      "with a session that is too long",
      { initialize: { ...USUAL["initialize"], headers: { "mcp-session-id": "s".repeat(1_025) } } },
      "protocol",
      /session id/,
    ],
  ])("%s", async (_what, next, reason, text) => {
    const [foundReason, foundText] = await failureOf(listing(next));
    expect(foundText).toMatch(text);
    expect(foundReason).toBe(reason);
  });
});

describe("A list fails", () => {
  it.each<[what: string, given: Given, reason: string, text: RegExp]>([
    [
      "when the server has none",
      { error: { code: -32601, message: "Method not found" } },
      "refused",
      /refused to list its tools: Method not found/,
    ],
    ["when it is no list", { result: { tools: {} } }, "protocol", /is no list/],
    ["when it is no object", { result: [] }, "protocol", /neither a result nor an error/],
    [
      "when it is two messages",
      { body: '[{"jsonrpc":"2.0","id":ID},{}]' },
      "protocol",
      /no JSON-RPC/,
    ],
    [
      "when it is a notification",
      { body: '{"jsonrpc":"2.0","method":"a"}' },
      "protocol",
      /neither a result nor an error/,
    ],
    [
      "when it has both a result and an error",
      { result: {}, error: { code: 1, message: "" } },
      "protocol",
      /neither a result nor an error/,
    ],
    [
      "when its error has no code",
      { error: { message: "a" } },
      "protocol",
      /neither a result nor an error/,
    ],
    [
      "when it answers nobody",
      { body: '{"jsonrpc":"2.0","id":null,"result":{}}' },
      "protocol",
      /another request/,
    ],
  ])("%s", async (_what, answer, reason, text) => {
    const [foundReason, foundText] = await failureOf(listing({ "tools/list": answer }));
    expect(foundText).toMatch(text);
    expect(foundReason).toBe(reason);
  });
});

describe("An answer counts", () => {
  const result = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}';
  const [head = "", tail = ""] = result.split(',"result"');
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
  it.each<[what: string, answer: Given]>([
    ["in a list of one, as the oldest version has it", { body: `[${result}]` }],
    [
      "with a character set",
      { body: result, headers: { "content-type": "Application/JSON; charset=UTF-8" } },
    ],
    ["in a stream without names", { headers: STREAM, body: `data: ${result}\n\n` }],
    ["in a stream with other line ends", { headers: STREAM, body: `data:${result}\r\n\r\n` }],
    ["in several lines", { headers: STREAM, body: `data: ${head}\ndata: ,"result"${tail}\n\n` }],
    ["without the last line end", { headers: STREAM, body: `data: ${result}` }],
    [
      "after comments, positions and notifications",
      {
        headers: STREAM,
        body: `\ufeff: hello\n\nid: 1\nretry: 5\ndata:\n\ndata: ${note}\n\nevent: ping\ndata: x\n\nevent: message\ndata: ${result}\n\n`,
      },
    ],
  ])("%s", async (_what, answer) => {
    expect(await calling({ "tools/call": answer })).toEqual({ text: "done" });
  });

  const numbered =
    '{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"message_id":1234567890123456789}}}';
  it.each<[what: string, answer: Given]>([
    ["in JSON", { body: numbered }],
    ["in a list of one", { body: `[ ${numbered} ]` }],
    ["in a stream", { headers: STREAM, body: `data: ${numbered}\n\n` }],
  ])("with all digits of its numbers, %s", async (_what, answer) => {
    const { text, content } = await calling({ "tools/call": answer });
    expect(text).toBe('{"message_id":1234567890123456789}');
    expect(content?.structuredText).toBe(text);
  });

  it("not after too many notifications", async () => {
    const body = `data: ${note}\n\n`.repeat(10_001);
    const failure = await failureOf(calling({ "tools/call": { headers: STREAM, body } }));
    expect(failure).toEqual(["protocol", "The tool server sent too many messages."]);
  });
});

describe("An error of a call is a result for the model", () => {
  it.each<[what: string, answer: Given, text: string]>([
    [
      "with its text",
      { error: { code: -32602, message: "Unknown tool: one" } },
      "Unknown tool: one (error -32602)",
    ],
    [
      "with an error status",
      { status: 422, error: { code: -32602, message: "No" } },
      "No (error -32602)",
    ],
    [
      "for a request that was not read",
      {
        status: 422,
        body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
      },
      "Parse error (error -32700)",
    ],
    [
      "without keys and addresses",
      { error: { code: 1, message: "sk-abcdefghijklmnop at db.internal.example:5432" } },
      "[key] at [address] (error 1)",
    ],
  ])("%s", async (_what, answer, text) => {
    expect(await calling({ "tools/call": answer })).toEqual({
      text: `The tool server reports: ${text}`,
      isError: true,
    });
  });

  it("but not an error status without one", async () => {
    const failure = await failureOf(calling({ "tools/call": { status: 422, body: "{}" } }));
    expect(failure[0]).toBe("refused");
  });
});

describe("A tool server is not reached", () => {
  const here = { allow: ["127.0.0.1"] };
  const none = { allow: [] };
  const stuck = { allow: [], resolve: () => new Promise<never>(() => {}) };
  const unknown = { allow: [], resolve: async () => [] };
  const header = { a: "b\r\nc: d" };
  const late = { url: "http://a.test/", timeoutMs: 100 };
  it.each<[what: string, to: readonly [EgressOptions, Partial<ToolServerLink>], string, RegExp]>([
    ["in a private network", [none, {}], "forbidden", /Add its host to EGRESS_ALLOW/],
    ["by another scheme", [none, { url: "ftp://example.com/" }], "invalid_url", /http or https/],
    ["with a password", [none, { url: "http://a:b@c.example/" }], "invalid_url", /into a header/],
    ["with a header of two lines", [here, { headers: header }], "invalid_url", /cannot be sent/],
    ["at no host", [unknown, { url: "http://a.test/" }], "unreachable", /host cannot be found/],
    ["when its name takes too long", [stuck, late], "timeout", /in time|within 0.1 seconds/],
    ["where nobody listens", [here, { url: "http://127.0.0.1:1/" }], "unreachable", /that it runs/],
  ])("%s", async (_what, [options, link], reason, text) => {
    asked = [];
    const [foundReason, foundText] = await failureOf(newClient(options).list(linkTo(link), signal));
    expect(foundText).toMatch(text);
    expect(foundReason).toBe(reason);
    expect(asked).toEqual([]);
  });
});
