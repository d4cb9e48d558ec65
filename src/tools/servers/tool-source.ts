import { ServiceError } from "../../core/service-error.ts";
import type { ToolLevel } from "../../knowledge/assistants/assistant.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ToolSource } from "../registry.ts";
import { failed } from "../run-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { HEADERS_UNREADABLE } from "./client/ask-server.ts";
import type { ListedTool, ToolServerCall, ToolServerClient } from "./client/tool-server-client.ts";
import { ToolServerFailure } from "./client/tool-server-failure.ts";
import type { KnownServers } from "./known-servers.ts";
import type { ServerChecks } from "./server-checks.ts";
import type { ServerHealths } from "./server-health.ts";
import { levelByAnnotations } from "./tool-level.ts";
import { readDefinition, stateOf, type ToolRow, type ToolServer } from "./tool-server.ts";

interface SourceParts {
  readonly known: KnownServers;
  readonly healths: Pick<ServerHealths, "of" | "isInError">;
  readonly checks: Pick<ServerChecks, "callFailed">;
  readonly client: Pick<ToolServerClient, "call">;
}

/** The approved tools of all enabled tool servers. Those of a server in error stay, and their calls fail. */
export function createToolSource(parts: SourceParts): ToolSource {
  const { known } = parts;
  // Validators of arguments are kept by schema, so the same tools are returned until something changes.
  const toolsOf = new WeakMap<ToolServer, readonly Tool[]>();
  let listed: { readonly of: readonly ToolServer[]; readonly tools: readonly Tool[] } | undefined;
  return {
    list() {
      const servers = known.list();
      if (listed?.of === servers) return listed.tools;
      const tools = servers.flatMap((server) => {
        const made = toolsOf.get(server) ?? offeredTools(server, parts);
        toolsOf.set(server, made);
        return made;
      });
      listed = { of: servers, tools };
      return tools;
    },
  };
}

function offeredTools(server: ToolServer, parts: SourceParts): readonly Tool[] {
  if (!server.row.enabled) return [];
  return server.tools.flatMap((row) => {
    const name = offeredName(server, row.name);
    return name === undefined || row.approved === null
      ? []
      : [toTool(server, { name, row, approved: row.approved }, parts)];
  });
}

/** The name under which a tool is offered now; undefined: it is not. */
function offeredName(server: ToolServer | undefined, name: string): string | undefined {
  const row = server?.tools.find((tool) => tool.name === name);
  if (row === undefined || stateOf(row) !== "approved") return undefined;
  return server?.row.enabled === true ? server.published.get(name) : undefined;
}

interface Offered {
  readonly name: string;
  readonly row: ToolRow;
  readonly approved: JsonObject;
}

function toTool(server: ToolServer, { name, row, approved }: Offered, parts: SourceParts): Tool {
  const { description, inputSchema, outputSchema, annotations } = readDefinition(approved);
  const { id, name: serverName } = server.row;
  const level = levelOf(row, annotations);
  return {
    name,
    description: `[Tool server ${serverName}] ${description}`.trim(),
    level,
    source: "mcp",
    parameters: inputSchema,
    outputSchema,
    async run(args, context) {
      const now = parts.known.find(id);
      // It may have been withdrawn since the model was told of it.
      if (now === undefined || offeredName(now, row.name) !== name) {
        return failed(`Tool '${name}' is no longer offered.`);
      }
      // The rights were checked, and the audit log decided, by the level at the beginning of the call.
      if (currentLevel(now, row.name) !== level) {
        return failed(`The level of tool '${name}' has just been changed. Call it again.`);
      }
      const { healths } = parts;
      if (now.link === undefined || healths.isInError(now.row)) {
        const reason = now.link === undefined ? HEADERS_UNREADABLE : healths.of(now.row).reason;
        return failed(`Tool '${name}' cannot be used now. ${reason}`);
      }
      return callTool(
        { ...parts, server: now, call: { name: row.name, args, inputSchema } },
        name,
        context,
      );
    },
  };
}

function currentLevel(server: ToolServer, name: string): ToolLevel | undefined {
  const row = server.tools.find((tool) => tool.name === name);
  if (row === undefined || row.approved === null) return undefined;
  return levelOf(row, readDefinition(row.approved).annotations);
}

function levelOf({ level }: ToolRow, annotations: ListedTool["annotations"]): ToolLevel {
  return level ?? levelByAnnotations(annotations);
}

interface ServerCall extends SourceParts {
  readonly server: ToolServer;
  readonly call: ToolServerCall;
}

async function callTool(
  { server, call, client, checks }: ServerCall,
  name: string,
  { signal }: ToolContext,
): Promise<ToolResult> {
  if (server.link === undefined) return failed(HEADERS_UNREADABLE);
  try {
    return await client.call(server.link, call, signal);
  } catch (thrown) {
    // A client that leaves says nothing about the server; the end of the tool's time does.
    if (signal.aborted && !(signal.reason instanceof ServiceError)) throw thrown;
    checks.callFailed(server.row.id);
    if (!(thrown instanceof ToolServerFailure)) throw thrown;
    return failed(`Tool '${name}': ${thrown.message}`);
  }
}
