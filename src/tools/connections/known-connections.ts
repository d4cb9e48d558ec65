import { asc } from "drizzle-orm";
import { byLabel, type Metric } from "../../core/metric.ts";
import type { Database } from "../../db/database.ts";
import { followChanges } from "../../db/follow-changes.ts";
import type { CaughtUp } from "../../db/keep-caught-up.ts";
import { connections } from "../../db/tables/connections.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { Log } from "../../lib/log.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { CONNECTION_KINDS, type SavedConnection } from "./connection.ts";

export type ConnectionRow = typeof connections.$inferSelect;

export interface FollowedConnections extends CaughtUp {
  readonly list: () => readonly SavedConnection[];
  readonly find: (name: string) => SavedConnection | undefined;
  /** The row as it was last read; undefined for a deleted one. */
  readonly row: (id: string) => ConnectionRow | undefined;
  readonly metrics: readonly Metric[];
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
  const { onChange } = options;
  let rows = new Map<string, ConnectionRow>();
  let byName = new Map<string, SavedConnection>();
  const { catchUp, close } = await followChanges({
    ...options,
    counter: "connections",
    name: "saved connections",
    async read(ask) {
      const found = await ask((db) =>
        db.select().from(connections).orderBy(asc(connections.nameKey)),
      );
      const before = rows;
      rows = new Map(found.map((row) => [row.id, row]));
      byName = new Map(found.map((row) => [row.nameKey, toConnection(row)]));
      for (const { id, changeSeq } of before.values()) {
        if (rows.get(id)?.changeSeq !== changeSeq) onChange(id);
      }
    },
  });
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
    close,
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
