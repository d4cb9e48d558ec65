import { eq } from "drizzle-orm";
import { withTransaction } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { nextChange } from "../../../db/next-change.ts";
import { repeatConflict } from "../../../db/repeat-conflict.ts";
import { mcpServers } from "../../../db/tables/mcp-servers.ts";
import { causeOf, type Log } from "../../../lib/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { ListedTool } from "../client/tool-server-client.ts";
import { readServer, readTools, writeList } from "../server-rows.ts";
import { addressOf, type ToolServer } from "../tool-server.ts";
import { type ListChanges, mergeList } from "./merge-list.ts";

/**
 * How often a process stores another list of one server in an hour. A server that lists other tools at each check, or to
 * each replica, must not keep the database and all replicas busy.
 */
const WRITES_MAX = 20;
const HOUR_MS = 3_600_000;

/** Stores what a check found, if it differs from what is stored. Never rejects. */
export type KeepList = (server: ToolServer, list: readonly ListedTool[]) => Promise<void>;

interface KeepOptions {
  readonly database: Pick<Database, "askOwn">;
  readonly clock: Clock;
  readonly log: Log;
  readonly catchUp: () => Promise<void>;
}

export function createKeepList({ database, clock, log, catchUp }: KeepOptions): KeepList {
  const takeTurn = limitWrites(clock, (server) => {
    log.warn(
      { server: server.row.id, name: server.row.name },
      "a tool server lists other tools too often; its list is stored again in an hour",
    );
  });
  // The lists that were found equal to the stored tools: comparing large ones takes long.
  const equal = new WeakMap<ToolServer["tools"], readonly ListedTool[]>();
  return async (server, list) => {
    // Most checks find what is stored, and ask the database nothing.
    if (equal.get(server.tools) === list) return;
    if (mergeList(server.tools, list) === undefined) {
      equal.set(server.tools, list);
      return;
    }
    if (!takeTurn(server)) return;
    try {
      const changes = await storeList(database, server, list);
      if (changes === undefined) return;
      const { id, name } = server.row;
      const { listed, gone, forgotten } = changes;
      log.info(
        { server: id, name, listed: listed.length, gone: gone.length + forgotten.length },
        "a tool server lists other tools than before; new and changed ones wait for approval",
      );
    } catch (thrown) {
      // The next check tries again.
      log.debug({ cause: causeOf(thrown) }, "the tools of a tool server could not be stored");
      return;
    } finally {
      await catchUp();
    }
  };
}

/** Returns the changes; undefined when another replica has stored them, or the server has been changed meanwhile. */
function storeList(
  { askOwn }: Pick<Database, "askOwn">,
  { row }: ToolServer,
  list: readonly ListedTool[],
): Promise<ListChanges | undefined> {
  return repeatConflict(() =>
    askOwn((db) =>
      withTransaction(db, async (transaction) => {
        const changeSeq = await nextChange(transaction, "mcp_servers");
        const now = await readServer(transaction, row.id);
        if (now === undefined || addressOf(now) !== addressOf(row)) return undefined;
        const changes = mergeList(await readTools(transaction, row.id), list);
        if (changes === undefined) return undefined;
        await writeList(transaction, row.id, changes);
        await transaction.update(mcpServers).set({ changeSeq }).where(eq(mcpServers.id, row.id));
        return changes;
      }),
    ),
  );
}

/** Returns a function that is true as often as a server may be written; `onEnd` runs once an hour at the first refusal. */
function limitWrites(
  clock: Clock,
  onEnd: (server: ToolServer) => void,
): (server: ToolServer) => boolean {
  const hours = new Map<string, { readonly from: number; count: number }>();
  return (server) => {
    const now = clock.now();
    for (const [id, { from }] of hours) {
      if (now < from || now - from >= HOUR_MS) hours.delete(id);
    }
    const hour = hours.get(server.row.id) ?? { from: now, count: 0 };
    hours.set(server.row.id, hour);
    hour.count += 1;
    if (hour.count === WRITES_MAX + 1) onEnd(server);
    return hour.count <= WRITES_MAX;
  };
}
