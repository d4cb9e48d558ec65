import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import type { ProtocolError } from "./protocol-error.ts";
import type { RequestId } from "./read-message.ts";
import { type Era, VERSIONS } from "./versions.ts";

/** What this server says about itself. */
export interface ServerFacts {
  readonly version: string;
  /** For the client's model. */
  readonly instructions: string;
}

/** A tool as clients see it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly level: "read_only" | "write" | "full_auto";
  /** True when it reaches beyond this service and its data. */
  readonly isOpenWorld: boolean;
}

export interface McpToolResult {
  readonly text: string;
  readonly isError?: boolean;
  /** Stands for `text` where it is given. */
  readonly content?: McpContent | undefined;
}

export interface McpContent {
  /** In the form of the protocol. */
  readonly parts: readonly JsonObject[];
  readonly structured?: JsonValue | undefined;
  /** Its JSON text, where it has numbers that parsing changed. */
  readonly structuredText?: string | undefined;
  /** True where it is too long; a part says so. */
  readonly isStructuredLeftOut?: boolean;
}

/** Clients may keep the facts about a server for a while. The list depends on a key, whose rights change at any time. */
const FACTS_TTL_MS = 60_000;
const LIST_TTL_MS = 5_000;
const CAPABILITIES = { tools: {} };

/** Encodes the answer to `initialize`. */
export function initializeResult(
  protocolVersion: string,
  { version, instructions }: ServerFacts,
): JsonObject {
  const serverInfo = serverInfoOf(version);
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo, instructions };
}

/** Encodes the answer to `server/discover`. */
export function discoverResult({ instructions }: ServerFacts): JsonObject {
  const cached = { ttlMs: FACTS_TTL_MS, cacheScope: "private" };
  return { supportedVersions: VERSIONS, capabilities: CAPABILITIES, instructions, ...cached };
}

/** Encodes the answer to `tools/list`. */
export function listResult(
  { tools, nextCursor }: { readonly tools: readonly ListedTool[]; readonly nextCursor?: string },
  era: Era,
): JsonObject {
  return {
    tools: tools.map(encodeTool),
    ...(nextCursor !== undefined && { nextCursor }),
    ...(era === "modern" && { ttlMs: LIST_TTL_MS, cacheScope: "private" }),
  };
}

/**
 * Encodes the answer to `tools/call`. Before 2026-07-28 structured content is an object. Where it was left out, a tool with
 * an `outputSchema` has failed: clients show nothing of a result that lacks what the schema promises.
 */
export function callResult(
  { text, isError = false, content }: McpToolResult,
  era: Era,
  { outputSchema }: Pick<ListedTool, "outputSchema">,
): JsonObject {
  if (content === undefined) return { content: [{ type: "text", text }], isError };
  const { parts, structured, isStructuredLeftOut = false } = content;
  const isKnown = era === "modern" ? structured !== undefined : isJsonObject(structured);
  const isPromised = isStructuredLeftOut && outputSchema !== undefined;
  return {
    content: parts,
    ...(isKnown && { structuredContent: structured }),
    isError: isError || isPromised,
  };
}

export interface AnswerFacts extends Pick<ServerFacts, "version"> {
  readonly era: Era;
  /** Stands for the structured content of the result, if it has one. */
  readonly structuredText?: string | undefined;
}

/** Encodes a whole answer. */
export function encodeResult(
  id: RequestId,
  result: JsonObject,
  { era, version, structuredText }: AnswerFacts,
): string {
  const meta = { "io.modelcontextprotocol/serverInfo": serverInfoOf(version) };
  const said: JsonObject =
    era === "modern" ? { resultType: "complete", ...result, _meta: meta } : result;
  if (structuredText === undefined || said["structuredContent"] === undefined) {
    return JSON.stringify({ jsonrpc: "2.0", id, result: said });
  }
  const { structuredContent: _changed, ...rest } = said;
  const others = JSON.stringify(rest).slice(0, -1);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${others},"structuredContent":${structuredText}}}`;
}

/** @param id is undefined for a message whose id cannot be read. */
export function encodeProtocolError(
  id: RequestId | undefined,
  { code, message, data }: Pick<ProtocolError, "code" | "message" | "data">,
): string {
  const error = { code, message, ...(data !== undefined && { data }) };
  return JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });
}

function serverInfoOf(version: string): JsonObject {
  return { name: "inference-gateway", title: "Inference Gateway", version };
}

function encodeTool({
  name,
  description,
  parameters,
  outputSchema,
  level,
  isOpenWorld,
}: ListedTool): JsonObject {
  const isReading = level === "read_only";
  return {
    name,
    description,
    inputSchema: { ...parameters, type: "object" },
    ...(outputSchema !== undefined && { outputSchema }),
    annotations: {
      readOnlyHint: isReading,
      destructiveHint: level === "full_auto",
      openWorldHint: isOpenWorld,
    },
  };
}
