import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import type { Message } from "./json-rpc.ts";
import { encodeHeaderValue } from "./parameter-headers.ts";

/** The version without handshake and sessions: each request describes itself. */
const MODERN_VERSION = "2026-07-28";
/** The versions with a handshake, the preferred one first. */
export const LEGACY_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const satisfies readonly [string, ...string[]];

/** How one tool server is spoken to. */
export type Dialect =
  | { readonly era: "modern" }
  | { readonly era: "legacy"; readonly version: string; readonly sessionId: string | undefined };

export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** A message as one tool server understands it. */
export interface Spoken {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const NO_CAPABILITIES: JsonObject = {};

/** Writes a message to a tool server. Without a dialect it belongs to the handshake. */
export function writeMessage(
  { id, method, params }: Message,
  dialect: Dialect | undefined,
  info: ClientInfo,
): Spoken {
  const isModern = dialect?.era === "modern";
  const sent = isModern ? { ...params, _meta: describeClient(info) } : params;
  const body = { jsonrpc: "2.0", ...(id !== undefined && { id }), method, params: sent };
  return {
    headers: {
      ...connectionHeaders(dialect),
      ...(isModern && { "mcp-method": method }),
      ...(isModern &&
        typeof params["name"] === "string" && {
          "mcp-name": encodeHeaderValue(params["name"]),
        }),
    },
    body: JSON.stringify(body),
  };
}

/** Writes the answer to a request of a tool server. Only `ping` has a result; nothing else was offered. */
export function writeReply(
  { id, method }: { readonly id: string | number; readonly method: string },
  dialect: Dialect | undefined,
): Spoken {
  const reply: JsonObject =
    method === "ping"
      ? { result: {} }
      : { error: { code: -32601, message: "The gateway offers tools only." } };
  return {
    headers: connectionHeaders(dialect),
    body: JSON.stringify({ jsonrpc: "2.0", id, ...reply }),
  };
}

/** The session of a tool server that wants one, from the header of its handshake. */
export function isSessionId(text: string): boolean {
  return /^[\x21-\x7e]{1,1024}$/.test(text);
}

/** Whether a tool server's description of itself names the version without handshake. */
export function speaksModern(discovered: JsonObject): boolean {
  const { supportedVersions } = discovered;
  return Array.isArray(supportedVersions) && supportedVersions.includes(MODERN_VERSION);
}

/** Returns the versions that a refusal of the requested one names. */
export function supportedVersions(data: JsonValue | undefined): readonly string[] {
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  if (!Array.isArray(supported)) return [];
  return supported.filter((version) => typeof version === "string");
}

function connectionHeaders(dialect: Dialect | undefined): Record<string, string> {
  const common = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  if (dialect === undefined) return common;
  if (dialect.era === "modern") return { ...common, "mcp-protocol-version": MODERN_VERSION };
  const { version, sessionId } = dialect;
  return {
    ...common,
    "mcp-protocol-version": version,
    ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
  };
}

function describeClient({ name, version }: ClientInfo): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": { name, version },
    "io.modelcontextprotocol/clientCapabilities": NO_CAPABILITIES,
  };
}
