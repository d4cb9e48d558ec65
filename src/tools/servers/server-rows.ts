import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { mcpServers, mcpServerTools } from "../../db/tables/mcp-servers.ts";
import { inGroups } from "../../lib/in-groups.ts";
import type { ListChanges } from "./changes/merge-list.ts";
import type { ServerRow, ToolRow } from "./tool-server.ts";

export async function readServer(db: Db, id: string): Promise<ServerRow | undefined> {
  const [row] = await db.select().from(mcpServers).where(eq(mcpServers.id, id));
  return row;
}

/** The servers that have changed since the counter had this value, or whose tools have. */
export function readChangedServers(db: Db, from: number): Promise<ServerRow[]> {
  return db
    .select()
    .from(mcpServers)
    .where(gt(mcpServers.changeSeq, from))
    .orderBy(asc(mcpServers.id));
}

export async function readServerIds(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.select({ id: mcpServers.id }).from(mcpServers);
  return new Set(rows.map(({ id }) => id));
}

export function readTools(db: Db, serverId: string): Promise<ToolRow[]> {
  return db.select().from(mcpServerTools).where(eq(mcpServerTools.serverId, serverId));
}

/** Tools written at once: each may have the size of two schemas. */
const CHUNK = 50;

/** Adds tools that a server lists, or stores how it lists them now. Those that are there keep what is approved. */
export async function insertListed(
  transaction: Db,
  serverId: string,
  tools: readonly Pick<ToolRow, "name" | "listed" | "approved">[],
): Promise<void> {
  for (const group of inGroups(tools, CHUNK)) {
    const rows = group.map((tool) => ({ serverId, ...tool }));
    await transaction
      .insert(mcpServerTools)
      .values(rows)
      .onConflictDoUpdate({
        target: [mcpServerTools.serverId, mcpServerTools.name],
        set: { listed: sql`excluded.listed` },
      });
  }
}

/** Stores what a server lists now. What is approved and the levels stay. */
export async function writeList(
  transaction: Db,
  serverId: string,
  { listed, gone, forgotten }: ListChanges,
): Promise<void> {
  const rows = listed.map((tool) => ({ ...tool, approved: null }));
  await insertListed(transaction, serverId, rows);
  if (gone.length > 0) {
    await transaction.update(mcpServerTools).set({ listed: null }).where(isOneOf(serverId, gone));
  }
  if (forgotten.length > 0) {
    await transaction.delete(mcpServerTools).where(isOneOf(serverId, forgotten));
  }
}

/** Whether a row is one of these tools of the server. */
function isOneOf(serverId: string, names: readonly string[]) {
  return and(eq(mcpServerTools.serverId, serverId), inArray(mcpServerTools.name, [...names]));
}
