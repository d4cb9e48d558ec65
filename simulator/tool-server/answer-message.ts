import type { Exchange } from "../http/exchange.ts";
import { headerOf } from "../http/request-reader.ts";
import { type Json, objectOf, stringOf } from "../json.ts";
import type { ScriptedTool, ToolAnswer, ToolState } from "./scripted-tools.ts";

/**
 * How the server speaks: without handshake; with handshake and answers in JSON, or in streams; with sessions (and
 * streams).
 */
export const TOOL_SERVER_MODES = ["modern", "json", "streams", "sessions"] as const;
export type ToolServerMode = (typeof TOOL_SERVER_MODES)[number];

export interface Dialogue {
  readonly mode: ToolServerMode;
  readonly tools: readonly ScriptedTool[];
  readonly pageSize: number;
  readonly state: ToolState;
  readonly sessions: Set<string>;
  /** Sent with the answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

const MODERN = "2026-07-28";
const LEGACY: readonly unknown[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const META = "io.modelcontextprotocol/";
const JSON_TYPE = { "content-type": "application/json" };

/** Answers one message of a client. */
export async function answerMessage(exchange: Exchange, message: Json, dialogue: Dialogue) {
  const refusal = dialogue.mode === "modern" ? checkModern(exchange, message) : undefined;
  if (refusal !== undefined) return refuse(exchange, message, refusal);
  if (dialogue.mode === "sessions" && message["method"] !== "initialize") {
    const session = headerOf(exchange.request, "mcp-session-id");
    if (session === undefined) return refuse(exchange, message, [400, -32000, "No session."]);
    if (!dialogue.sessions.has(session)) {
      return refuse(exchange, message, [404, -32001, "Session not found"]);
    }
  }
  if (message["id"] === undefined || message["method"] === undefined) {
    return exchange.send(202, "", {});
  }
  return answerRequest(exchange, message, dialogue);
}

async function answerRequest(exchange: Exchange, message: Json, dialogue: Dialogue) {
  const { id, method } = message;
  const params = objectOf(message["params"]) ?? {};
  if (method === "tools/call") return answerCall(exchange, id, params, dialogue);
  const isModern = dialogue.mode === "modern";
  if (method === "initialize" && !isModern) return answerHandshake(exchange, id, params, dialogue);
  const result = resultOf(method, params, dialogue);
  if (result === undefined) {
    const status = isModern ? 404 : 200;
    return refuse(exchange, message, [status, -32601, "Method not found"]);
  }
  return answer(exchange, id, { result }, dialogue);
}

function resultOf(method: unknown, params: Json, dialogue: Dialogue): Json | undefined {
  if (method === "tools/list") return listPage(params, dialogue);
  if (method === "ping") return {};
  if (method !== "server/discover" || dialogue.mode !== "modern") return undefined;
  const server = { name: "scripted", version: "1.0.0" };
  return {
    supportedVersions: [MODERN],
    capabilities: { tools: {} },
    _meta: { [`${META}serverInfo`]: server },
    ttlMs: 0,
    cacheScope: "private",
  };
}

function listPage({ cursor }: Json, { tools, pageSize, state }: Dialogue): Json {
  const start = Number(stringOf(cursor) ?? 0);
  const end = start + pageSize;
  return {
    tools: tools.slice(start, end).map(({ list }) => list(state)),
    ...(end < tools.length && { nextCursor: String(end) }),
    ttlMs: 0,
    cacheScope: "private",
  };
}

async function answerHandshake(exchange: Exchange, id: unknown, params: Json, dialogue: Dialogue) {
  const { protocolVersion } = params;
  const result = {
    protocolVersion: LEGACY.includes(protocolVersion) ? protocolVersion : LEGACY[0],
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "scripted", version: "1.0.0" },
  };
  const session = `session-${dialogue.sessions.size + 1}-${Date.now()}`;
  if (dialogue.mode === "sessions") dialogue.sessions.add(session);
  const headers = dialogue.mode === "sessions" ? { "mcp-session-id": session } : {};
  return answer(exchange, id, { result }, { ...dialogue, headers });
}

async function answerCall(exchange: Exchange, id: unknown, params: Json, dialogue: Dialogue) {
  const tool = dialogue.tools.find(({ name }) => name === params["name"]);
  const args = objectOf(params["arguments"]) ?? {};
  if (tool === undefined) {
    const error = { code: -32602, message: `Tool ${String(params["name"])} not found` };
    return answer(exchange, id, { error }, dialogue);
  }
  const send = async (message: Json) => {
    if (isStream(dialogue) && exchange.status === undefined) startStream(exchange);
    if (exchange.status !== undefined) await writeEvent(exchange, message);
  };
  const { state } = dialogue;
  const ran = await tool.run({ args, exchange, state, send, id });
  return answer(exchange, id, ran, dialogue);
}

/** Writes an answer as JSON or as the last event of a stream. */
async function answer(exchange: Exchange, id: unknown, ran: ToolAnswer, dialogue: Dialogue) {
  const { headers = {} } = dialogue;
  if (ran === undefined || exchange.gone) return;
  const message = "message" in ran ? ran.message : { jsonrpc: "2.0", id, ...complete(ran) };
  if (!isStream(dialogue)) {
    await exchange.send(200, JSON.stringify(message), { ...JSON_TYPE, ...headers });
    return;
  }
  if (exchange.status === undefined) startStream(exchange, headers);
  await writeEvent(exchange, message);
  exchange.end();
}

function complete(ran: { readonly result: Json } | { readonly error: Json }): Json {
  return "error" in ran ? ran : { result: { resultType: "complete", ...ran.result } };
}

function isStream({ mode }: Dialogue): boolean {
  return mode === "streams" || mode === "sessions";
}

function startStream(exchange: Exchange, headers: Readonly<Record<string, string>> = {}): void {
  exchange.head(200, "chunked", { "content-type": "text/event-stream", ...headers });
}

async function writeEvent(exchange: Exchange, message: unknown): Promise<void> {
  await exchange.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

type Refusal = readonly [status: number, code: number, message: string];

async function refuse(exchange: Exchange, { id }: Json, [status, code, message]: Refusal) {
  const body = { jsonrpc: "2.0", id: id ?? null, error: { code, message } };
  await exchange.send(status, JSON.stringify(body), JSON_TYPE);
}

/** Returns the refusal of a message that does not describe itself as the protocol prescribes. */
function checkModern({ request }: Exchange, message: Json): Refusal | undefined {
  if (message["method"] === "initialize") return [404, -32601, "Method not found"];
  const params = objectOf(message["params"]) ?? {};
  const meta = objectOf(params["_meta"]) ?? {};
  const version = meta[`${META}protocolVersion`];
  if (version === undefined || objectOf(meta[`${META}clientCapabilities`]) === undefined) {
    return [400, -32602, "The _meta of the request is incomplete."];
  }
  if (version !== MODERN) return [400, -32022, "Unsupported protocol version"];
  const expected = { "mcp-protocol-version": version, "mcp-method": message["method"] };
  const isNamed = message["method"] === "tools/call";
  const name = decodeHeader(headerOf(request, "mcp-name"));
  const hasAll = Object.entries(expected).every(([key, value]) => headerOf(request, key) === value);
  if (hasAll && (!isNamed || name === params["name"])) return undefined;
  return [400, -32020, "The headers differ from the body."];
}

function decodeHeader(value: string | undefined): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value ?? "") ?? [];
  return encoded === undefined ? value : Buffer.from(encoded, "base64").toString();
}
