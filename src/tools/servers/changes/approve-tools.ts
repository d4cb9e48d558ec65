import { isDeepStrictEqual } from "node:util";
import { and, eq } from "drizzle-orm";
import type { AnyActor } from "../../../access/actor.ts";
import { change } from "../../../access/change.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { Db } from "../../../db/context.ts";
import { mcpServers, mcpServerTools } from "../../../db/tables/mcp-servers.ts";
import type { ToolLevel } from "../../../knowledge/assistants/assistant.ts";
import { revisionOf, stateOf, type ToolRow, type ToolServer } from "../tool-server.ts";
import { type ShownServerWithTools, showWithTools, type ToolServers } from "../tool-servers.ts";
import { readBack, serverFrame } from "./change-server.ts";

export interface Approval {
  readonly id: string;
  /** The server's own names of the tools; undefined approves all that wait. */
  readonly tools?: readonly string[] | undefined;
  /** The revision that was seen. */
  readonly revision?: string | undefined;
}

/**
 * Approves tools as the server last listed them. Rejects with `not_found`, with `changed_meanwhile` when the list is no
 * longer the one that was seen, and with `invalid_value` for a tool that it does not list.
 */
export async function approveTools(
  servers: ToolServers,
  actor: AnyActor,
  { id, tools, revision }: Approval,
): Promise<ShownServerWithTools> {
  const frame = serverFrame(servers, { verb: "approve", id });
  const approved = await change(servers, actor, frame, async (transaction, changeSeq) => {
    const before = await readBack(servers, transaction, id);
    if (revision !== undefined && revision !== revisionOf(before.row, before.tools)) {
      throw listChanged();
    }
    const waiting = chosenTools(before, tools).filter(isWaiting);
    const names = waiting.map(({ name }) => name);
    if (names.length === 0) return { result: before, details: null };
    for (const { name, listed } of waiting) {
      await transaction.update(mcpServerTools).set({ approved: listed }).where(isTool(id, name));
    }
    await raise(transaction, id, changeSeq);
    return { result: await readBack(servers, transaction, id), details: { tools: names } };
  });
  return showWithTools(approved, servers.healths);
}

export interface LevelChange {
  readonly id: string;
  /** The name under which the tool is offered. */
  readonly tool: string;
  /** Null: by its annotations. */
  readonly level: ToolLevel | null;
}

/** Sets the level of a tool. Rejects with `not_found`. */
export async function setToolLevel(
  servers: ToolServers,
  actor: AnyActor,
  { id, tool, level }: LevelChange,
): Promise<ShownServerWithTools> {
  const frame = serverFrame(servers, { verb: "set_level", id });
  const changed = await change(servers, actor, frame, async (transaction, changeSeq) => {
    const before = await readBack(servers, transaction, id);
    const found = before.tools.find(({ name }) => before.published.get(name) === tool);
    if (found === undefined) throw unknownTool();
    if (found.level === level) return { result: before, details: null };
    await transaction.update(mcpServerTools).set({ level }).where(isTool(id, found.name));
    await raise(transaction, id, changeSeq);
    const details = { tool: found.name, level };
    return { result: await readBack(servers, transaction, id), details };
  });
  return showWithTools(changed, servers.healths);
}

function chosenTools(
  { tools }: ToolServer,
  names: readonly string[] | undefined,
): readonly ToolRow[] {
  if (names === undefined) return tools;
  return names.map((name, index) => {
    const found = tools.find((tool) => tool.name === name && tool.listed !== null);
    if (found !== undefined) return found;
    throw new ServiceError(
      "invalid_value",
      `'tools[${index}]' must be the 'name' of a tool that the server lists.`,
      { param: `tools[${index}]` },
    );
  });
}

function isWaiting(tool: ToolRow): boolean {
  // Approved again, a tool is offered with the schema of its results, too.
  return stateOf(tool) !== "gone" && !isDeepStrictEqual(tool.approved, tool.listed);
}

function isTool(serverId: string, name: string) {
  return and(eq(mcpServerTools.serverId, serverId), eq(mcpServerTools.name, name));
}

/** Marks a server as changed, so that replicas read it with its tools. */
async function raise(transaction: Db, id: string, changeSeq: number): Promise<void> {
  await transaction.update(mcpServers).set({ changeSeq }).where(eq(mcpServers.id, id));
}

function listChanged(): ServiceError {
  return new ServiceError(
    "changed_meanwhile",
    "The tools have changed since they were read; read the tool server again and approve what it lists now.",
    { param: "revision" },
  );
}

function unknownTool(): ServiceError {
  return new ServiceError(
    "not_found",
    "The tool server has no tool of this name; its 'tools' have the names as 'tool'.",
  );
}
