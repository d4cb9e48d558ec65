import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { scriptedTools } from "../../../simulator/tool-server/scripted-tools.ts";
import { createEgress } from "../../../src/lib/egress/egress.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { createToolServerClient } from "../../../src/tools/servers/create-tool-server-client.ts";
import type { ListedTool } from "../../../src/tools/servers/tool-server-client.ts";
import { startToolServer, type TestToolServer } from "../../support/servers/start-tool-server.ts";

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
const list = () =>
  client.list({ url: server.url, headers: {}, timeoutMs: 30_000 }, new AbortController().signal);

/** Offers tools as the server would list them. */
function offer(listed: readonly JsonObject[]): void {
  const run = () => ({ result: {} });
  server.offer(listed.map((item, index) => ({ name: `${index}`, list: () => item, run })));
}

async function listed(name: string): Promise<ListedTool | undefined> {
  return (await list()).find((tool) => tool.name === name);
}

it("A list has the tools of all pages, but those that cannot be named or described", async () => {
  const names = (await list()).map(({ name }) => name);
  const left = scriptedTools.map(({ name }) => name).filter((name) => !names.includes(name));
  expect(left).toEqual(["n".repeat(200), "broken\nname", "no_object"]);
  expect(names).toContain("a/b");
  expect(names).toContain("a.b");
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

it("A list ends where its server repeats a cursor", async () => {
  const repeating = await startToolServer({ pageSize: 0, tools: ["echo"] });
  const { signal } = new AbortController();
  const link = { url: repeating.url, headers: {}, timeoutMs: 30_000 };
  expect(await client.list(link, signal)).toEqual([]);
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
