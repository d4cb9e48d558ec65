import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readResult } from "../../src/tools/servers/clean/read-result.ts";
import { findMcpFault } from "../support/mcp-schemas.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { type BoundKey, type Json, McpStage } from "../support/stages/tools/mcp-stage.ts";

/** One HTTP exchange of a client. */
interface Exchange {
  readonly method: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

/** The part that all official clients have in common. */
interface AnyClient {
  readonly listTools: () => Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  readonly callTool: (call: { name: string; arguments: Json }) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const NEVER = new Promise<never>(() => undefined);
const INFO = { name: "a test", version: "1.0.0" };
const RESULTS: Readonly<Record<string, string>> = {
  initialize: "InitializeResult",
  "server/discover": "DiscoverResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
};

let stage: McpStage;
let bound: BoundKey;
beforeAll(async () => {
  stage = await McpStage.open({ STREAM_KEEPALIVE_MS: "100" });
  bound = await stage.bindKey();
});
afterAll(() => stage?.close());

describe.each([
  ["sdk 1.32.2", undefined, "2025-11-25"],
  ["client 2.4.0 as older servers need it", "legacy", "2025-11-25"],
  ["client 2.4.0 that finds out by itself", "auto", "2026-07-28"],
  ["client 2.4.0 of 2026-07-28", { pin: "2026-07-28" }, "2026-07-28"],
] as const)("4.1 POST /mcp by the official %s", (_, mode, version) => {
  let client: AnyClient;
  let exchanges: Promise<Exchange>[];

  const recorded: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const sent = typeof init?.body === "string" ? JSON.parse(init.body) : {};
    const { status } = response;
    const contentType = response.headers.get("content-type");
    const method = String(sent.method ?? init?.method);
    const text = response.clone().text();
    exchanges.push(text.then((whole) => ({ method, status, contentType, text: whole })));
    return response;
  };

  async function connect(key: string): Promise<AnyClient> {
    const options = {
      fetch: recorded,
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    };
    if (mode === undefined) {
      const made = new Client(INFO);
      // biome-ignore lint/suspicious/noExplicitAny: its own types differ under exactOptionalPropertyTypes
      await made.connect(new StreamableHTTPClientTransport(new URL(stage.url), options) as any);
      return made as AnyClient;
    }
    const made = new NewClient(INFO, { versionNegotiation: { mode } });
    await made.connect(new NewTransport(new URL(stage.url), options));
    return made as AnyClient;
  }

  beforeEach(async () => {
    exchanges = [];
    stage.toolTimeoutMs = undefined;
    const run = async (args: Json) => ({ text: `hello ${String(args["of"])}` });
    stage.tools.splice(0, stage.tools.length, testTool("greet", run));
    client = await connect(bound.key);
  });
  afterEach(() => client?.close());

  /** Compares every answer so far with the published schema. Streams that are still open are left out. */
  async function expectSound(): Promise<void> {
    let compared = 0;
    for (const { method, status, contentType, text } of await Promise.all(exchanges)) {
      const type = RESULTS[method];
      if (status !== 200 || type === undefined) continue;
      const isStream = contentType?.startsWith("text/event-stream");
      const answer = isStream ? (/^data: (.*)$/m.exec(text)?.[1] ?? "") : text;
      const { result } = JSON.parse(answer) as { readonly result?: unknown };
      if (result === undefined) continue;
      expect([method, findMcpFault(type, result, version)]).toEqual([method, undefined]);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(0);
  }

  it("connects, lists and calls", async () => {
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: "greet", inputSchema: { type: "object" } }]);
    expect(await client.callTool({ name: "greet", arguments: { of: "you" } })).toMatchObject({
      content: [{ type: "text", text: "hello you" }],
    });
    await expectSound();
  });

  it("is told of a wrong argument in the result, and of an unknown tool by an error", async () => {
    expect(await client.callTool({ name: "greet", arguments: { of: 7 } })).toMatchObject({
      isError: true,
      content: [{ text: "Tool 'greet': argument 'of' must be string, got integer." }],
    });
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    await expectSound();
  });

  it("is kept alive while a tool takes long", async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const run = async () => {
      await ended;
      return { text: "at last" };
    };
    stage.tools.push(testTool("slow", run));
    const calling = client.callTool({ name: "slow", arguments: {} });
    await expect.poll(() => stage.served.deps.openCalls.streams(), { timeout: 10_000 }).toBe(1);
    end();
    expect(await calling).toMatchObject({ content: [{ text: "at last" }] });
    const { contentType, text } = (await Promise.all(exchanges)).find(
      ({ method }) => method === "tools/call",
    ) as Exchange;
    expect(contentType).toBe("text/event-stream; charset=utf-8");
    expect(text).toMatch(/^: keepalive\n\n/);
    await expectSound();
  });

  it("gets an error result for a tool beyond the time limit", async () => {
    stage.toolTimeoutMs = 50;
    stage.tools.push(testTool("endless", () => NEVER));
    expect(await client.callTool({ name: "endless", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("took longer than 50 ms") }],
    });
  });

  it("is told that structured content is left out, of tools with a schema for it too", async () => {
    const result = { content: [], structuredContent: { rows: "x".repeat(70_000) } };
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    const run = async () => readResult(result, 65_536, message);
    const properties = { rows: { type: "string" } };
    const outputSchema = { type: "object", properties, required: ["rows"] };
    stage.tools.push(testTool("plain", run), testTool("promised", run, { outputSchema }));
    expect((await client.listTools()).tools).toHaveLength(3);
    const note = { text: expect.stringMatching(/70011 bytes: left out.*TOOL_RESULT_MAX_BYTES/) };
    for (const [name, isError] of [
      ["plain", false],
      ["promised", true],
    ] as const) {
      const answer = await client.callTool({ name, arguments: {} });
      expect([name, answer]).toMatchObject([name, { content: [note], isError }]);
    }
    await expectSound();
  });

  it("is refused by a limit and by a wrong key over HTTP", async () => {
    const zero = await stage.bindKey({ request_limit: 0 }, bound.assistantId);
    const refused = await connect(zero.key);
    expect((await refused.listTools()).tools).toHaveLength(1);
    await expect(refused.callTool({ name: "greet", arguments: {} })).rejects.toThrow(
      /request_limit_exceeded|429/,
    );
    await refused.close();
    await expect(connect("sk-of-nobody-0123456789abcdefghijklmnop")).rejects.toThrow();
    const statuses = (await Promise.all(exchanges)).map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([429, 401]));
  });
});
