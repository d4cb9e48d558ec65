import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { ToolLevel } from "../../knowledge/assistants/assistant.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { AskServer } from "./client/ask-server.ts";
import type { LeftOutTool } from "./client/tool-server-client.ts";
import type { KnownServers } from "./known-servers.ts";
import type { ServerChecks } from "./server-checks.ts";
import type { ServerHealths, ServerStatus } from "./server-health.ts";
import { levelByAnnotations } from "./tool-level.ts";
import {
  countTools,
  readDefinition,
  revisionOf,
  type ServerRow,
  stateOf,
  type ToolRow,
  type ToolServer,
  type ToolState,
} from "./tool-server.ts";

/** What the functions of this folder need. */
export interface ToolServers {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  readonly known: KnownServers;
  readonly catchUp: () => Promise<void>;
  readonly toServer: (row: ServerRow, tools: readonly ToolRow[]) => ToolServer;
  readonly healths: ServerHealths;
  readonly checks: Pick<ServerChecks, "check">;
  readonly ask: AskServer;
}

/** A tool server as administrators see it: without the values of its headers. */
export interface ShownServer {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly headerNames: readonly string[];
  readonly enabled: boolean;
  readonly timeoutMs: number | null;
  readonly status: ServerStatus;
  readonly statusReason: string | null;
  readonly statusSince: Date | null;
  readonly checkedAt: Date | null;
  readonly toolCounts: Readonly<Record<ToolState, number>>;
  readonly createdAt: Date;
}

export interface ShownServerWithTools extends ShownServer {
  readonly revision: string;
  readonly tools: readonly ShownTool[];
  /** What its last list holds that cannot be offered. */
  readonly leftOut: readonly LeftOutTool[];
}

export interface ShownTool {
  /** The server's own name. */
  readonly name: string;
  /** The name under which it is offered; null when no name is left for it. */
  readonly tool: string | null;
  readonly description: string;
  readonly level: ToolLevel;
  readonly levelSource: "annotations" | "administrator";
  readonly state: ToolState;
  readonly parameters: JsonObject;
  /** Its schema is too large, so that any object is accepted in its place. */
  readonly schemaReplaced: boolean;
  /** Of a changed tool: what would be approved. */
  readonly listed?: ListedDefinition | undefined;
}

interface ListedDefinition {
  readonly description: string;
  readonly parameters: JsonObject;
  /** The level by its annotations. */
  readonly level: ToolLevel;
}

/** Lists the tool servers whose name contains the text, by name. */
export function listToolServers(
  { known, healths }: Pick<ToolServers, "known" | "healths">,
  { search = "", limit, offset }: { search?: string | undefined; limit: number; offset: number },
): { readonly servers: readonly ShownServer[]; readonly total: number } {
  const word = search.toLowerCase();
  const found = known.list().filter(({ row }) => row.name.includes(word) || row.id === search);
  const servers = found.slice(offset, offset + limit).map((server) => showServer(server, healths));
  return { servers, total: found.length };
}

/** Counts the tools of enabled servers that an administrator has to look at: new and changed ones. */
export function countWaitingTools({ known }: Pick<ToolServers, "known">): number {
  let waiting = 0;
  for (const { row, tools } of known.list()) {
    const counts = countTools(row.enabled ? tools : []);
    waiting += counts.waiting + counts.changed;
  }
  return waiting;
}

/** Lists what enabled servers list but cannot be offered, by server. */
export function listLeftOut({ known, healths }: Pick<ToolServers, "known" | "healths">) {
  return known
    .list()
    .filter(({ row }) => row.enabled)
    .flatMap(({ row }) => {
      const { id: serverId, name: server } = row;
      return healths.of(row).leftOut.map((tool) => ({ serverId, server, ...tool }));
    });
}

/** Lists the tools, by the names under which they are offered, whose schema was too large to be kept. */
export function listReplaced({
  known,
  healths,
}: Pick<ToolServers, "known" | "healths">): readonly string[] {
  return known.list().flatMap(({ row, published }) =>
    healths.of(row).replaced.flatMap((name) => {
      const offered = published.get(name);
      return offered === undefined ? [] : [offered];
    }),
  );
}

/** Throws `not_found`. */
export function findToolServer(
  { known, healths }: Pick<ToolServers, "known" | "healths">,
  id: string,
): ShownServerWithTools {
  return showWithTools(known.find(id) ?? throwUnknown(), healths);
}

/** Checks a server now and returns it as it is then. Rejects with `not_found`. */
export async function checkToolServer(
  servers: Pick<ToolServers, "known" | "healths" | "checks">,
  id: string,
): Promise<ShownServerWithTools> {
  findToolServer(servers, id);
  await servers.checks.check(id);
  return findToolServer(servers, id);
}

function showServer({ row, tools }: ToolServer, healths: Pick<ServerHealths, "of">): ShownServer {
  const { status, reason, since, checkedAt } = healths.of(row);
  const { id, name, url, headerNames, enabled, timeoutMs, createdAt } = row;
  return {
    ...{ id, name, url, headerNames, enabled, timeoutMs, createdAt },
    status,
    statusReason: reason,
    statusSince: since,
    checkedAt,
    toolCounts: countTools(tools),
  };
}

export function showWithTools(
  server: ToolServer,
  healths: Pick<ServerHealths, "of">,
): ShownServerWithTools {
  const { row, tools, published } = server;
  const { leftOut, replaced } = healths.of(row);
  return {
    ...showServer(server, healths),
    revision: revisionOf(row, tools),
    tools: tools.map((tool) => ({
      ...showTool(tool, published.get(tool.name) ?? null),
      schemaReplaced: replaced.includes(tool.name),
    })),
    leftOut,
  };
}

/** Of a tool that has gone and was never approved, only the level is kept. */
const UNKNOWN_DEFINITION: JsonObject = { description: "" };

/** An approved tool is shown as it is offered, or was; one that waits as it is listed. */
function showTool(tool: ToolRow, published: string | null): Omit<ShownTool, "schemaReplaced"> {
  const state = stateOf(tool);
  const { description, inputSchema, annotations } = readDefinition(
    tool.approved ?? tool.listed ?? UNKNOWN_DEFINITION,
  );
  return {
    name: tool.name,
    tool: published,
    description,
    level: tool.level ?? levelByAnnotations(annotations),
    levelSource: tool.level === null ? "annotations" : "administrator",
    state,
    parameters: inputSchema,
    ...(state === "changed" && { listed: listedOf(tool.listed ?? {}) }),
  };
}

function listedOf(listed: JsonObject): ListedDefinition {
  const { description, inputSchema, annotations } = readDefinition(listed);
  return { description, parameters: inputSchema, level: levelByAnnotations(annotations) };
}

export function throwUnknown(): never {
  throw new ServiceError(
    "not_found",
    "There is no tool server of this id; see GET /api/mcp-servers.",
  );
}
