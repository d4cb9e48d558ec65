import { asc, eq } from "drizzle-orm";
import { byLabel, type Metric } from "../../core/metric.ts";
import type { Ask, Database } from "../../db/database.ts";
import { changeCounters } from "../../db/tables/change-counters.ts";
import { connections } from "../../db/tables/connections.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { CONNECTION_KINDS, type SavedConnection } from "./connection.ts";

/** The pause between two checks for changes by other replicas. */
const POLL_PAUSE_MS = 500;

export type ConnectionRow = typeof connections.$inferSelect;

export interface FollowedConnections {
  readonly list: () => readonly SavedConnection[];
  readonly find: (name: string) => SavedConnection | undefined;
  /** The row as it was last read; undefined for a deleted one. */
  readonly row: (id: string) => ConnectionRow | undefined;
  /** Reads the committed changes, so that a change made by this process holds for the next call. Never rejects. */
  readonly catchUp: () => Promise<void>;
  readonly metrics: readonly Metric[];
  readonly close: () => void;
}

export interface FollowOptions {
  readonly database: Pick<Database, "db" | "askOwn" | "kind">;
  readonly log: Log;
  /** Receives the id of a connection that was changed or deleted. */
  readonly onChange: (id: string) => void;
}

/**
 * Loads all saved connections into memory and follows their changes until closed. They are few, so all are read after
 * each change. Those in memory remain valid while the database is unreachable.
 */
export async function followConnections(options: FollowOptions): Promise<FollowedConnections> {
  const { database, log, onChange } = options;
  let rows = new Map<string, ConnectionRow>();
  let byName = new Map<string, SavedConnection>();
  let upTo = 0;
  let isAway = false;

  const readChanges = async (ask: Ask): Promise<void> => {
    const reached = await readCounter(ask);
    if (reached === upTo) return;
    const found = await ask((db) =>
      db.select().from(connections).orderBy(asc(connections.nameKey)),
    );
    const before = rows;
    rows = new Map(found.map((row) => [row.id, row]));
    byName = new Map(found.map((row) => [row.nameKey, toConnection(row)]));
    upTo = reached;
    for (const { id, changeSeq } of before.values()) {
      if (rows.get(id)?.changeSeq !== changeSeq) onChange(id);
    }
  };
  await readChanges((work) => work(database.db));
  const catchUp = shareRuns(async () => {
    try {
      await readChanges(database.askOwn);
      if (isAway) log.info("saved connections are read from the database again");
      isAway = false;
    } catch (thrown) {
      if (!isAway) {
        log.warn(
          { cause: causeOf(thrown) },
          "saved connections cannot be read from the database; those last read stay in use",
        );
      }
      isAway = true;
    }
  });
  // Only this process writes to the embedded database.
  const polling = database.kind === "embedded" ? undefined : repeat(POLL_PAUSE_MS, catchUp);
  return {
    list: () => [...byName.values()],
    find: (name) => byName.get(nameKey(name)),
    row: (id) => rows.get(id),
    catchUp,
    metrics: [
      {
        name: "svc_connections",
        type: "gauge",
        help: "Saved database connections by kind.",
        labels: ["kind"],
        read: () => byLabel("kind", countByKind(rows.values())),
      },
    ],
    close: () => polling?.stop(),
  };
}

export function toConnection(row: ConnectionRow): SavedConnection {
  const { sealedPassword: _, nameKey: __, createdBy: ___, changeSeq: ____, ...connection } = row;
  return connection;
}

/** Opens the password of a row: null without one, undefined when APP_SECRET was another one when it was sealed. */
export function openPassword(
  secretBox: Pick<SecretBox, "open">,
  { id, sealedPassword }: Pick<ConnectionRow, "id" | "sealedPassword">,
): string | null | undefined {
  return sealedPassword === null ? null : secretBox.open(sealedPassword, id);
}

function countByKind(rows: Iterable<ConnectionRow>): Readonly<Record<string, number>> {
  const counts = zeroCounts(CONNECTION_KINDS);
  for (const { kind } of rows) counts[kind] += 1;
  return counts;
}

async function readCounter(ask: Ask): Promise<number> {
  const [counter] = await ask((db) =>
    db
      .select({ seq: changeCounters.seq })
      .from(changeCounters)
      .where(eq(changeCounters.name, "connections")),
  );
  return counter?.seq ?? 0;
}
