import type { Secret } from "../access/secret.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import type { FileConnections } from "../knowledge/file-connections.ts";
import type { Search } from "../knowledge/retrieve/passage.ts";
import { createEgress } from "../lib/egress/egress.ts";
import { createSecretBox } from "../lib/secret-box.ts";
import { type AuditCall, createCallAudit } from "./audit-calls.ts";
import { type Connections, openConnections } from "./connections/open-connections.ts";
import { openFileTools } from "./files/open-file-tools.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import { createToolServerClient } from "./servers/client/create-tool-server-client.ts";
import { openToolServers } from "./servers/open-tool-servers.ts";
import type { ToolServers } from "./servers/tool-servers.ts";
import { openShell } from "./shell/open-shell.ts";
import { createToolFigures, type ToolFigures } from "./tool-figures.ts";

/** How the gateway introduces itself to tool servers. */
const CLIENT_NAME = "inference-gateway";

export interface Tools extends Part {
  readonly tools: ToolRegistry;
  readonly connections: Connections;
  readonly toolServers: ToolServers;
  /** Counts a call that has ended. */
  readonly countToolCall: ToolFigures["countCall"];
  /** Records a call above `read_only` before it runs. */
  readonly auditToolCall: AuditCall;
}

export interface ToolParts {
  readonly search: Search;
  readonly fileConnections: FileConnections;
  /** Passwords of saved connections and headers of tool servers are sealed with a key of it. */
  readonly secret: Pick<Secret, "derive">;
  /** Of the product, for the servers that it calls. */
  readonly version: string;
  /** Registers each part as soon as it is open, so that a failing start closes it. */
  readonly add: <Opened extends Part<Db>>(part: Opened) => Opened;
}

/** What models can do beside answering. */
export async function openTools(
  base: Base,
  { search, fileConnections, secret, version, add }: ToolParts,
): Promise<Tools> {
  const { settings, database, clock, log } = base;
  const secretBox = createSecretBox(secret.derive("sealed-secrets"));
  const files = openFileTools(fileConnections, settings);
  add({ close: async () => files.close() });
  const shell = settings.TOOL_SHELL_ENABLED
    ? await openShell({ settings, fileConnections, log })
    : undefined;
  if (shell !== undefined) add({ close: async () => shell.close() });
  const connections = add(await openConnections(base, { secretBox, fileConnections }));
  const databases = { saved: connections.saved, settings, clock };
  const egress = createEgress({ allow: settings.EGRESS_ALLOW });
  const client = createToolServerClient({
    egress,
    info: { name: CLIENT_NAME, version },
    maxResultBytes: settings.TOOL_RESULT_MAX_BYTES,
  });
  const servers = add(await openToolServers(base, { secretBox, client }));
  const parts = { search, settings, files, shell, databases };
  const tools = createToolRegistry(parts, [servers.source]);
  const { countCall, metrics } = createToolFigures(tools.builtIn);
  const { audit, settle } = createCallAudit(database, log);
  return {
    tools,
    connections,
    toolServers: servers.toolServers,
    countToolCall: countCall,
    auditToolCall: audit,
    metrics,
    close: settle,
  };
}
