import type { Settings } from "../config/settings.ts";
import { type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import { inFolderOf } from "../lib/folders/start-refusal.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "./database.ts";
import { tendTables } from "./embedded/tend-tables.ts";
import { openReplicaGuard, type ReplicaGuard } from "./locks/replica-guard.ts";
import { MIGRATION_TIMEOUT_MS, migrate } from "./migrate.ts";
import { openDatabase, STATEMENT_TIMEOUT_MS } from "./open-db.ts";

const READ_ONLY_HINT =
  "PostgreSQL takes no changes, as a standby or a database that is set to read-only; see that DATABASE_URL leads to the server that does, the gateway connects again by itself.";

export interface Store extends Part {
  readonly database: Database;
  readonly guard: ReplicaGuard;
}

/** Opens the database, takes it for this replica and migrates it. Throws a `StartRefusal` where one of these fails. */
export async function openStore(settings: Settings, log: Log): Promise<Store> {
  // All migrations are one transaction, which may take longer than any other.
  let limitMs = MIGRATION_TIMEOUT_MS;
  const database = await inFolderOf("DATA_DIR", () => openDatabase(settings, log, () => limitMs));
  let guard: ReplicaGuard | undefined;
  const close = async () => {
    await guard?.close();
    await database.close();
  };
  try {
    guard = await openReplicaGuard(settings, log);
    await migrate(database);
    limitMs = STATEMENT_TIMEOUT_MS;
  } catch (thrown) {
    await close();
    throw thrown;
  }
  // A server whose schema is not up to date does not start.
  const checks = { db: database.ping, migrations: () => true };
  const jobs = database.kind === "embedded" ? [tendTables(database.db)] : [];
  const hints = { db: () => (database.isReadOnly() ? READ_ONLY_HINT : undefined) };
  return { database, guard, jobs, metrics: storeMetrics(database), checks, hints, close };
}

function storeMetrics({ figures }: Database): readonly Metric[] {
  return [
    {
      name: "svc_database_queries_running",
      type: "gauge",
      help: "Queries of callers that hold a connection.",
      labels: [],
      read: () => single(figures().inUse),
    },
    {
      name: "svc_database_connections_max",
      type: "gauge",
      help: "Connections that callers' queries may hold at once.",
      labels: [],
      read: () => single(figures().max),
    },
    {
      name: "svc_database_queries_waiting",
      type: "gauge",
      help: "Queries of callers that wait for a connection.",
      labels: [],
      read: () => single(figures().waiting),
    },
    {
      name: "svc_database_queries_refused_total",
      type: "counter",
      help: "Queries of callers that were turned away, because too many waited or the database was too slow.",
      labels: [],
      read: () => single(figures().refused),
    },
  ];
}
