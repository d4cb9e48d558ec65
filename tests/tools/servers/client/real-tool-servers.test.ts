import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer as OldServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createEgress } from "../../../../src/lib/egress/egress.ts";
import { createToolServerClient } from "../../../../src/tools/servers/client/create-tool-server-client.ts";
import type { ToolServerLink } from "../../../../src/tools/servers/client/tool-server-client.ts";

/** The libraries that most tool servers are built with, in the ways in which they are used. */
type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const ADD = {
  description: "Adds two numbers.",
  inputSchema: { a: z.number(), b: z.number() },
  annotations: { readOnlyHint: true },
};
const addition = async ({ a, b }: { readonly a: number; readonly b: number }) => ({
  content: [{ type: "text" as const, text: String(a + b) }],
});
const failing = async () => {
  throw new Error("the disk is full");
};

/** What is no text, with values by a schema. */
const PICTURE = Buffer.alloc(100_000, 7).toString("base64");
const SHOW = {
  description: "Shows.",
  outputSchema: { count: z.number(), names: z.array(z.string()) },
};
const shown = {
  content: [
    { type: "image" as const, mimeType: "image/png", data: PICTURE },
    { type: "audio" as const, mimeType: "audio/wav", data: "UklGRg==" },
    { type: "resource" as const, resource: { uri: "u:a", mimeType: "text/plain", text: "é" } },
    { type: "resource" as const, resource: { uri: "u:b", blob: PICTURE } },
    { type: "resource_link" as const, uri: "file:///r.pdf", name: "Report" },
  ],
  structuredContent: { count: 2, names: ["a", "b"] },
};
const showing = async () => shown;

function newServer(): McpServer {
  const server = new McpServer({ name: "new", version: "1.0.0" });
  server.registerTool("show", { ...SHOW, outputSchema: z.object(SHOW.outputSchema) }, showing);
  server.registerTool("add", { ...ADD, inputSchema: z.object(ADD.inputSchema) }, addition);
  server.registerTool("fail", { description: "Fails." }, failing);
  return server;
}

function oldServer(): OldServer {
  const server = new OldServer({ name: "old", version: "1.0.0" });
  server.registerTool("show", SHOW, showing);
  server.registerTool("add", ADD, addition);
  server.registerTool("fail", { description: "Fails." }, failing);
  return server;
}

function answerWithNew(): Answer {
  const { fetch } = createMcpHandler(newServer);
  return async (request, response) => {
    const headers = new Headers(request.headers as Record<string, string>);
    const url = `http://${headers.get("host")}${request.url}`;
    const method = request.method ?? "";
    const body = method === "POST" ? { body: (await readAll(request)).toString() } : {};
    const answered = await fetch(new Request(url, { method, headers, ...body }));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(Buffer.from(await answered.arrayBuffer()));
  };
}

async function answerStateless(isJson: boolean, ...[request, response]: Parameters<Answer>) {
  const options = { enableJsonResponse: isJson };
  const transport = new StreamableHTTPServerTransport(options);
  await oldServer().connect(transport);
  await transport.handleRequest(request, response);
}

/** Keeps sessions, as the library's examples do. `forget` is a restart. */
function answerStateful(): {
  readonly answer: Answer;
  readonly forget: () => void;
  opened: number;
} {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const state = {
    opened: 0,
    forget: () => sessions.clear(),
    answer: async (request: IncomingMessage, response: ServerResponse) => {
      const body: unknown = JSON.parse((await readAll(request)).toString());
      const known = sessions.get(String(request.headers["mcp-session-id"]));
      if (known !== undefined) return known.handleRequest(request, response, body);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `session-${++state.opened}`,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      await oldServer().connect(transport);
      await transport.handleRequest(request, response, body);
    },
  };
  return state;
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

const stateful = answerStateful();
const servers: Readonly<Record<string, Answer>> = {
  "the library of both eras": answerWithNew(),
  "the older library, stateless, in JSON": (...call) => answerStateless(true, ...call),
  "the older library, stateless, in streams": (...call) => answerStateless(false, ...call),
  "the older library, with sessions": stateful.answer,
};

let server: Server;
let requests = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    requests += 1;
    const name = decodeURIComponent(request.url?.slice(1) ?? "");
    servers[name]?.(request, response).catch((thrown) => response.destroy(thrown));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const client = createToolServerClient({
  egress: createEgress({ allow: ["127.0.0.1"] }),
  info: { name: "inference-gateway", version: "1.0.0" },
});
const { signal } = new AbortController();

function linkTo(name: string): ToolServerLink {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/${encodeURIComponent(name)}`;
  return { url, headers: {}, timeoutMs: 30_000 };
}

describe.each(Object.keys(servers))("A tool server built with %s", (name) => {
  it("is listed", async () => {
    const { tools } = await client.list(linkTo(name), signal);
    expect(tools.map((tool) => tool.name)).toEqual(["show", "add", "fail"]);
    expect(tools[0]?.outputSchema).toMatchObject({
      type: "object",
      properties: { count: { type: "number" }, names: { type: "array" } },
    });
    expect(tools[1]).toMatchObject({
      description: "Adds two numbers.",
      annotations: { readOnlyHint: true },
      inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a", "b"] },
    });
  });

  it("runs a tool at the cost of one request", async () => {
    const before = requests;
    const call = { name: "add", args: { a: 2, b: 3 } };
    expect(await client.call(linkTo(name), call, signal)).toEqual({ text: "5" });
    expect(requests - before).toBe(1);
  });

  it("passes on images, audio, resources, links and structured content as they are", async () => {
    const { content, text } = await client.call(linkTo(name), { name: "show", args: {} }, signal);
    expect(content).toEqual({ parts: shown.content, structured: shown.structuredContent });
    expect(text).toContain("[image image/png, 100 kB: not shown]");
  });

  it("reports failures as results", async () => {
    const failed = await client.call(linkTo(name), { name: "fail", args: {} }, signal);
    expect(failed).toEqual({ text: "the disk is full", isError: true });
    const unknown = await client.call(linkTo(name), { name: "none", args: {} }, signal);
    expect(unknown.isError).toBe(true);
    expect(unknown.text).toContain("none");
  });
});

it("A tool server that forgot the session gets a new one, and the call is answered", async () => {
  const link = linkTo("the older library, with sessions");
  const before = stateful.opened;
  stateful.forget();
  const calls = [1, 2, 3].map((a) => client.call(link, { name: "add", args: { a, b: 0 } }, signal));
  expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(["1", "2", "3"]);
  expect(stateful.opened).toBe(before + 1);
});
