import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { scriptedTools } from "../../../../simulator/tool-server/scripted-tools.ts";
import { createEgress } from "../../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../../src/lib/json/json.ts";
import { createToolServerClient } from "../../../../src/tools/servers/client/create-tool-server-client.ts";
import {
  createListTools,
  type ReadToolPage,
} from "../../../../src/tools/servers/client/list-tools.ts";
import type { ListedTool } from "../../../../src/tools/servers/client/tool-server-client.ts";
import {
  startToolServer,
  type TestToolServer,
} from "../../../support/servers/start-tool-server.ts";

let server: TestToolServer;
beforeAll(async () => {
  server = await startToolServer({ pageSize: 30 });
});
afterAll(() => server.stop());
beforeEach(() => server.offer(scriptedTools));

const client = createToolServerClient({
  egress: createEgress({ allow: ["127.0.0.1"] }),
  info: { name: "inference-gateway", version: "1.0.0" },
});
const listAll = () =>
  client.list({ url: server.url, headers: {}, timeoutMs: 30_000 }, new AbortController().signal);
const list = async () => (await listAll()).tools;

/** Offers tools as the server would list them. */
function offer(listed: readonly JsonObject[]): void {
  const run = () => ({ result: {} });
  server.offer(listed.map((item, index) => ({ name: `${index}`, list: () => item, run })));
}

function manyTools(count: number, more: () => JsonObject = () => ({})): readonly JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({ name: `tool_${index}`, ...more() }));
}

async function listed(name: string): Promise<ListedTool | undefined> {
  return (await list()).find((tool) => tool.name === name);
}

it("A list has the tools of all pages, but those that cannot be named or described", async () => {
  const { tools, leftOut } = await listAll();
  const names = tools.map(({ name }) => name);
  const left = scriptedTools.map(({ name }) => name).filter((name) => !names.includes(name));
  expect(left).toEqual(["n".repeat(200), "broken\nname", "no_object"]);
  expect(names).toContain("a/b");
  expect(names).toContain("a.b");
  const isMisnamed = expect.stringContaining("Its name is missing, longer than 128");
  expect(leftOut).toEqual([
    { name: "n".repeat(128), reason: isMisnamed },
    { name: expect.stringMatching(/^broken\s*name$/), reason: isMisnamed },
    { name: "no_object", reason: expect.stringContaining("inputSchema") },
  ]);
});

it("Of two tools with one name the second is left out, and reported with what is no tool at all", async () => {
  const twice = { name: "twice", inputSchema: { type: "object" } };
  offer([twice, twice, { description: "nameless" }]);
  const { tools, leftOut } = await listAll();
  expect(tools.map(({ name }) => name)).toEqual(["twice"]);
  expect(leftOut).toEqual([
    { name: "twice", reason: "An earlier tool of the list has the same name." },
    { name: null, reason: expect.stringContaining("Its name is missing") },
  ]);
});

it("A listed tool has its description, its schema and the hints that count", async () => {
  expect(await listed("lying")).toEqual({
    name: "lying",
    description: "The tool lying.",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
  });
  expect((await listed("ansi"))?.description).toBe("Shows\ncolours.");
  expect((await listed("long_description"))?.description).toBe("d".repeat(4_096));
  expect((await listed("orders"))?.description).toMatch(/^Before anything else/);
  expect((await listed("wild"))?.inputSchema).toEqual({
    type: "object",
    properties: {
      slow: { type: "string", description: "Letters. Pattern: ^(a+)+$" },
      remote: {},
      many: {},
      size: { type: "integer", minimum: 1 },
      tree: { type: "object", properties: { left: true } },
    },
    required: ["size"],
  });
});

it("What is no tool is left out, and of two tools with one name the first one counts", async () => {
  offer([
    { name: "one", description: "first" },
    { name: "one", description: "second" },
    { name: "" },
    { name: "  " },
    { name: 7 },
    { description: "nameless" },
    { name: "n".repeat(128), annotations: { readOnlyHint: "yes", destructiveHint: false } },
    { name: "n".repeat(129) },
    { name: "tab\tname" },
    { name: "\u202ename" },
    { name: "two", description: 7, inputSchema: "none" },
  ]);
  const tools = await list();
  expect(tools.map(({ name, description }) => [name, description])).toEqual([
    ["one", "first"],
    ["n".repeat(128), ""],
  ]);
  expect(tools[1]?.annotations).toEqual({ destructiveHint: false });
});

it("A list ends after 512 tools, and after 20 pages", async () => {
  const many = (count: number) =>
    offer(Array.from({ length: count }, (_, index) => ({ name: `tool_${index}` })));
  const pagesSince = (start: number) =>
    server
      .requests()
      .slice(start)
      .filter(({ method }) => method === "tools/list").length;
  many(700);
  const start = server.requests().length;
  expect(await list()).toHaveLength(512);
  expect(pagesSince(start)).toBe(18);
  offer(Array.from({ length: 700 }, (_, index) => ({ name: index < 650 ? "" : `tool_${index}` })));
  const second = server.requests().length;
  expect(await list()).toEqual([]);
  expect(pagesSince(second)).toBe(20);
});

const withDescriptions = (count: number, length: number) =>
  offer(manyTools(count, () => ({ description: "d".repeat(length) })));

it("A list of more than 1 MiB is refused, in one page and in all pages together", async () => {
  for (const [count, length] of [
    [30, 40_000],
    [60, 20_000],
  ] as const) {
    withDescriptions(count, length);
    await expect(list()).rejects.toMatchObject({
      reason: "too_large",
      message: expect.stringContaining("list of tools is larger than 1 MiB"),
    });
  }
  withDescriptions(60, 16_000);
  expect(await list()).toHaveLength(60);
});

it("A list that is the same as before is not cleaned again, and another one is", async () => {
  withDescriptions(40, 100);
  const first = await list();
  expect(await list()).toBe(first);
  withDescriptions(40, 101);
  const second = await list();
  expect(second).not.toBe(first);
  expect(second[39]?.description).toHaveLength(101);
  withDescriptions(40, 100);
  expect(await list()).toBe(first);
});

it("What references repeat in all tools of a list together has a limit", async () => {
  const refer = (count: number, to: string) => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`p${index}`, { $ref: to }]),
    ),
  });
  const inputSchema = { ...refer(40, "#/A"), A: refer(40, "#/B"), B: { type: "string" } };
  offer(manyTools(100, () => ({ inputSchema })));
  const schemas = (await list()).map((tool) => JSON.stringify(tool.inputSchema));
  expect(schemas).toHaveLength(100);
  const whole = schemas.filter((schema) => schema === schemas[0]);
  // 3,281 schemas each with its references, and 20,000 in all.
  expect(whole).toHaveLength(6);
  expect(schemas[0]?.match(/"string"/g)).toHaveLength(1_600);
  expect(new Set(schemas.slice(6))).toEqual(new Set(['{"type":"object"}']));
});

it("A long list leaves others their turn after each of its tools", async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`p${index}`, { type: "string" }]),
  );
  let turns = 0;
  const readPage: ReadToolPage = async () => ({
    tools: manyTools(300, () => ({ inputSchema: { type: "object", properties } })),
    nextCursor: undefined,
  });
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const link = { url: server.url, headers: {}, timeoutMs: 30_000 };
  const { tools } = await createListTools(readPage)(link, new AbortController().signal);
  isDone = true;
  expect(tools).toHaveLength(300);
  expect(turns).toBeGreaterThanOrEqual(300);
});

it("Cleaning a long list ends with the signal of its caller", async () => {
  const readPage: ReadToolPage = async () => ({ tools: manyTools(300), nextCursor: undefined });
  const leaving = new AbortController();
  const link = { url: server.url, headers: {}, timeoutMs: 30_000 };
  const listing = createListTools(readPage)(link, leaving.signal);
  leaving.abort(new Error("the caller left"));
  await expect(listing).rejects.toThrow("the caller left");
});

it("A list ends where its server repeats a cursor", async () => {
  const repeating = await startToolServer({ pageSize: 0, tools: ["echo"] });
  const { signal } = new AbortController();
  const link = { url: repeating.url, headers: {}, timeoutMs: 30_000 };
  expect((await client.list(link, signal)).tools).toEqual([]);
  const pages = repeating.requests().filter(({ method }) => method === "tools/list");
  expect(pages.map(({ message }) => (message["params"] as JsonObject)["cursor"])).toEqual([
    undefined,
    "0",
  ]);
  await repeating.stop();
});

it("Arguments that the schema marks are headers, too", async () => {
  const link = { url: server.url, headers: {}, timeoutMs: 30_000 };
  const tool = await listed("marked");
  const call = { name: "marked", args: { region: "Zürich" }, inputSchema: tool?.inputSchema ?? {} };
  expect(await client.call(link, call, new AbortController().signal)).toEqual({ text: "Zürich" });
  const headers = server.requests().at(-1)?.headers;
  expect(headers?.["mcp-param-region"]).toBe("=?base64?WsO8cmljaA==?=");
  expect(headers?.["mcp-name"]).toBe("marked");
});

it("A name that no header can hold is encoded", async () => {
  const link = { url: server.url, headers: {}, timeoutMs: 30_000 };
  const call = { name: "Größe", args: {} };
  const result = await client.call(link, call, new AbortController().signal);
  // The server compares header and body before it looks for the tool.
  expect(result.text).toContain("Tool Größe not found");
});
