import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { mcpServers, mcpServerTools } from "../../db/tables/mcp-servers.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { withObjectProperties } from "../../lib/json/object-properties.ts";
import type { ListedTool, ToolServerLink } from "./client/tool-server-client.ts";
import { publishedNames } from "./published-names.ts";

export type ServerRow = typeof mcpServers.$inferSelect;
export type ToolRow = typeof mcpServerTools.$inferSelect;

/**
 * The state of a tool of a tool server. Only the approved ones are offered. `waiting`: never approved. `changed`: the
 * server lists another definition than the approved one. `gone`: no longer listed; what was approved or set of it stays.
 */
export const TOOL_STATES = ["approved", "waiting", "changed", "gone"] as const;
export type ToolState = (typeof TOOL_STATES)[number];

/** A tool server with its tools, as the database has it and each replica in memory. Never changed. */
export interface ToolServer {
  readonly row: ServerRow;
  /** By name. */
  readonly tools: readonly ToolRow[];
  /** The names under which the tools are offered, by the server's own names. */
  readonly published: ReadonlyMap<string, string>;
  /** Undefined when the headers cannot be opened. */
  readonly link: ToolServerLink | undefined;
}

/** What an administrator approves of a tool. */
export type ToolDefinition = JsonObject & { readonly name: string };

interface OpenOptions {
  /** Opens the sealed headers of a record. */
  readonly openHeaders: (sealed: string, owner: string) => string | undefined;
  /** TOOL_TIMEOUT_MS. */
  readonly timeoutMs: number;
}

/** Builds a tool server of its rows. */
export function toToolServer(
  row: ServerRow,
  rows: readonly ToolRow[],
  { openHeaders, timeoutMs }: OpenOptions,
): ToolServer {
  const tools = [...rows].sort((one, other) => (one.name < other.name ? -1 : 1));
  const headers = readHeaders(row, openHeaders);
  return {
    row,
    tools,
    published: publishedNames(
      row.name,
      tools.map(({ name }) => name),
    ),
    link: headers && { url: row.url, headers, timeoutMs: row.timeoutMs ?? timeoutMs },
  };
}

function readHeaders(
  { id, sealedHeaders }: ServerRow,
  open: OpenOptions["openHeaders"],
): Readonly<Record<string, string>> | undefined {
  if (sealedHeaders === null) return {};
  const text = open(sealedHeaders, id);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Equal for two records of a server that are asked in the same way. */
export function addressOf({ id, url, sealedHeaders }: ServerRow): string {
  return `${id} ${url} ${sealedHeaders ?? ""}`;
}

/** Returns what is stored and approved of a listed tool, as the database will return it. */
export function definitionOf(tool: ListedTool): ToolDefinition {
  const { name, description, inputSchema, outputSchema, annotations } = tool;
  const { readOnlyHint, destructiveHint } = annotations;
  const hints = { readOnlyHint, destructiveHint };
  const definition = { name, description, inputSchema, outputSchema, annotations: hints };
  return JSON.parse(JSON.stringify(definition));
}

/** Reads a stored definition. MCP clients refuse a whole list of tools in which the schema of one property is `true`. */
export function readDefinition(stored: JsonObject): ListedTool {
  const { name, description, inputSchema, outputSchema, annotations } = stored;
  const { readOnlyHint, destructiveHint } = isJsonObject(annotations) ? annotations : {};
  return {
    name: String(name),
    description: String(description),
    inputSchema: isJsonObject(inputSchema) ? withObjectProperties(inputSchema) : { type: "object" },
    ...(isJsonObject(outputSchema) && { outputSchema: withObjectProperties(outputSchema) }),
    annotations: {
      ...(typeof readOnlyHint === "boolean" && { readOnlyHint }),
      ...(typeof destructiveHint === "boolean" && { destructiveHint }),
    },
  };
}

export function stateOf({ approved, listed }: Pick<ToolRow, "approved" | "listed">): ToolState {
  if (listed === null) return "gone";
  if (approved === null) return "waiting";
  // A form of results that was approved without its schema is the same tool.
  const { outputSchema: _outputSchema, ...rest } = listed;
  const compared = approved["outputSchema"] === undefined ? rest : listed;
  return isDeepStrictEqual(approved, compared) ? "approved" : "changed";
}

/** Returns how many tools are in each state. */
export function countTools(tools: readonly ToolRow[]): Readonly<Record<ToolState, number>> {
  const counts = { approved: 0, waiting: 0, changed: 0, gone: 0 };
  for (const tool of tools) counts[stateOf(tool)] += 1;
  return counts;
}

/** Equal as long as the server at this address lists the same tools. An approval names it, so that it approves what was seen. */
export function revisionOf({ url }: ServerRow, tools: readonly ToolRow[]): string {
  const listed = tools
    .filter((tool) => tool.listed !== null)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((tool) => tool.listed);
  // The database returns the keys of an object in one order.
  return createHash("sha256")
    .update(JSON.stringify([url, listed]))
    .digest("hex")
    .slice(0, 32);
}
