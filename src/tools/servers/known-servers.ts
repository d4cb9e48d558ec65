import type { Database } from "../../db/database.ts";
import { followChanges } from "../../db/follow-changes.ts";
import type { CaughtUp } from "../../db/keep-caught-up.ts";
import type { Log } from "../../lib/log.ts";
import { readChangedServers, readServerIds, readTools } from "./server-rows.ts";
import type { ServerRow, ToolRow, ToolServer } from "./tool-server.ts";

/** The tool servers in memory. */
export interface KnownServers {
  /** By name. The same array until something changes. */
  readonly list: () => readonly ToolServer[];
  readonly find: (id: string) => ToolServer | undefined;
}

export interface FollowedServers extends CaughtUp {
  readonly known: KnownServers;
}

export interface FollowOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
  readonly toServer: (row: ServerRow, tools: readonly ToolRow[]) => ToolServer;
  /** Runs after changes were read. Never throws. */
  readonly onChange: () => void;
}

/**
 * Loads all tool servers into memory and follows their changes until closed. Those in memory remain valid while the
 * database is unreachable.
 */
export async function followServers(options: FollowOptions): Promise<FollowedServers> {
  const { toServer, onChange } = options;
  let byId: ReadonlyMap<string, ToolServer> = new Map();
  let list: readonly ToolServer[] = [];
  const { catchUp, close } = await followChanges({
    ...options,
    counter: "mcp_servers",
    name: "tool servers",
    async read(ask, from) {
      const servers = new Map(from === 0 ? [] : byId);
      for (const row of await ask((db) => readChangedServers(db, from))) {
        const tools = await ask((db) => readTools(db, row.id));
        servers.set(row.id, toServer(row, tools));
      }
      // There are no tombstones. Read last, so that no row read earlier is newer than its deletion.
      const present = await ask(readServerIds);
      for (const id of servers.keys()) if (!present.has(id)) servers.delete(id);
      byId = servers;
      list = [...servers.values()].sort((one, other) => (one.row.name < other.row.name ? -1 : 1));
      onChange();
    },
  });
  return {
    known: { list: () => list, find: (id) => byId.get(id) },
    catchUp,
    close,
  };
}
