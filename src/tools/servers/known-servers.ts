import type { Ask, Database } from "../../db/database.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import { readChangedServers, readCounter, readServerIds, readTools } from "./server-rows.ts";
import type { ServerRow, ToolRow, ToolServer } from "./tool-server.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;

/** The tool servers in memory. */
export interface KnownServers {
  /** By name. The same array until something changes. */
  readonly list: () => readonly ToolServer[];
  readonly find: (id: string) => ToolServer | undefined;
}

export interface FollowedServers {
  readonly known: KnownServers;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => void;
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
  const { database, log, toServer, onChange } = options;
  let byId: ReadonlyMap<string, ToolServer> = new Map();
  let list: readonly ToolServer[] = [];
  let upTo = 0;
  let isAway = false;

  const readChanges = async (ask: Ask): Promise<void> => {
    const reached = await ask(readCounter);
    if (reached === upTo) return;
    // A lower number: the database was restored to an earlier state.
    const from = reached < upTo ? 0 : upTo;
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
    upTo = reached;
    onChange();
  };
  await readChanges((work) => work(database.db));
  const catchUp = shareRuns(async () => {
    try {
      await readChanges(database.askOwn);
      if (isAway) log.info("tool servers are read from the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway) {
        log.warn(
          { cause: causeOf(thrown) },
          "tool servers cannot be read from the database; those last read stay in use",
        );
      }
      isAway = true;
    }
  });
  // Only this process writes to the embedded database.
  const polling = database.kind === "embedded" ? undefined : repeat(POLL_PAUSE_MS, catchUp);
  return {
    known: { list: () => list, find: (id) => byId.get(id) },
    catchUp,
    close: () => polling?.stop(),
  };
}
