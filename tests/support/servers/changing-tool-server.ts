import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "../../../src/lib/json.ts";

/** A tool as a tool server lists it. */
export interface ServedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}

interface Heard {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A tool server whose tools change, and which hangs, stops and returns. Its tools answer with their arguments. */
export interface ChangingToolServer {
  readonly url: string;
  /** What it lists from now on. */
  tools: readonly ServedTool[];
  /** While it is true, requests stay without an answer. */
  hangs: boolean;
  /** Every message so far. */
  readonly heard: readonly Heard[];
  /** Resolves with the next message of this method. */
  readonly next: (method: string) => Promise<Heard>;
  /** Closes its port and all connections. */
  readonly stop: () => Promise<void>;
  /** Opens the same port again. */
  readonly start: () => Promise<void>;
}

export async function startChangingToolServer(
  tools: readonly ServedTool[],
): Promise<ChangingToolServer> {
  const heard: Heard[] = [];
  const waiting: { readonly method: string; readonly resolve: (message: Heard) => void }[] = [];
  const server = createServer((request, response) => void answer(request, response));
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(Buffer.concat(chunks).toString());
    const { id, method, params = {} } = message;
    const one = { method, params, headers: request.headers };
    heard.push(one);
    for (const waiter of waiting.filter((each) => each.method === method)) {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.resolve(one);
    }
    if (self.hangs) return;
    if (id === undefined) return void response.writeHead(202).end();
    const result = resultOf(method, params, self.tools);
    const known = result ?? { code: -32601, message: `there is no ${method}` };
    const body = { jsonrpc: "2.0", id, [result === undefined ? "error" : "result"]: known };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const self: ChangingToolServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    tools,
    hangs: false,
    heard,
    next: (method) => new Promise((resolve) => waiting.push({ method, resolve })),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    start: () => listen(port),
  };
  return self;
}

function resultOf(
  method: string,
  params: JsonObject,
  tools: readonly ServedTool[],
): JsonObject | undefined {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "changing", version: "1" },
      };
    case "tools/list":
      return { tools: tools.map((tool) => ({ inputSchema: { type: "object" }, ...tool })) };
    case "tools/call":
      return { content: [{ type: "text", text: JSON.stringify(params["arguments"]) }] };
    default:
      return undefined;
  }
}
