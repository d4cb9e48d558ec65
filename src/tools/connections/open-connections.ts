import type { Part } from "../../core/part.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Base } from "../../db/base.ts";
import type { FileConnections } from "../../knowledge/file-connections.ts";
import { createSocketGuard } from "../../lib/egress/pinned-socket.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { ConnectionDesk } from "./change-connection.ts";
import type {
  ConnectionKind,
  ConnectionTrial,
  QueryRows,
  ReadQuery,
  SavedConnection,
  SavedConnections,
  TableShape,
} from "./connection.ts";
import { COLUMNS_MAX, DIALECTS, TABLES_MAX } from "./drivers/dialects.ts";
import { createOpenMysql } from "./drivers/mysql-session.ts";
import { createOpenPostgres } from "./drivers/postgres-session.ts";
import type {
  OpenSession,
  Session,
  SessionQuery,
  SessionWrite,
  Target,
} from "./drivers/session.ts";
import { SessionPool } from "./drivers/session-pool.ts";
import { openSqliteDriver } from "./drivers/sqlite-session.ts";
import { explainFailure } from "./explain-failure.ts";
import {
  type ConnectionRow,
  followConnections,
  openPassword,
  toConnection,
} from "./known-connections.ts";

export interface ConnectionParts {
  /** Seals the passwords. */
  readonly secretBox: SecretBox;
  readonly fileConnections: FileConnections;
  /** Certificates of authorities in the place of the runtime's; for tests. */
  readonly authorities?: string;
}

export interface RowWrite extends SessionWrite {
  readonly signal: AbortSignal;
}

export interface Connections extends Part {
  readonly saved: SavedConnections;
  /** For the verbs that list and change saved connections. */
  readonly desk: ConnectionDesk;
  /**
   * Writes rows into one table in one transaction, over a connection of its own: what may have been written is never
   * tried again here. Rejects as `saved.read` does.
   */
  readonly write: (connection: SavedConnection, rows: RowWrite) => Promise<void>;
  /** Tries a connection before it is saved. Rejects only with the reason of the signal. */
  readonly tryTarget: (target: Target, signal: AbortSignal) => Promise<ConnectionTrial>;
  /** Tries a saved connection over a connection of its own. Rejects only with the reason of the signal. */
  readonly testSaved: (row: ConnectionRow, signal: AbortSignal) => Promise<ConnectionTrial>;
}

/** Bytes that a database may send for one query: a value of a gigabyte must not fill the gateway's memory. */
const RESULT_MAX_BYTES = 16 * 1024 * 1024;
/**
 * Queries of one saved connection at once; further ones wait. All SQLite files share a few processes, so that slow
 * queries of one file must not hold them all.
 */
const SESSIONS_MAX: Readonly<Record<ConnectionKind, number>> = { postgres: 4, mysql: 4, sqlite: 1 };
const DESCRIBE_TIMEOUT_MS = 15_000;
const TEST_TIMEOUT_MS = 10_000;
/** For ending an abandoned statement at the server. */
const CANCEL_MS = 5_000;

/** Opens the saved connections: they are held in memory, and their servers are connected to when they are read. */
export async function openConnections(
  { settings, database, clock, log }: Base,
  { secretBox, fileConnections, authorities }: ConnectionParts,
): Promise<Connections> {
  const connect = createSocketGuard({ allow: settings.EGRESS_ALLOW });
  const sqlite = openSqliteDriver({ files: fileConnections });
  const drivers: Readonly<Record<ConnectionKind, OpenSession>> = {
    postgres: createOpenPostgres({ connect, authorities }),
    mysql: createOpenMysql({ connect, authorities }),
    sqlite: sqlite.open,
  };
  const pools = new Map<string, SessionPool>();
  const followed = await followConnections({
    database,
    log,
    onChange(id) {
      pools.get(id)?.close();
      pools.delete(id);
    },
  });
  const poolOf = ({ id, kind }: SavedConnection): SessionPool => {
    const known = pools.get(id);
    if (known !== undefined) return known;
    const made = new SessionPool(SESSIONS_MAX[kind], (signal) => {
      const target = targetOf(secretBox, followed.row(id));
      return drivers[target.connection.kind](target, signal);
    });
    pools.set(id, made);
    return made;
  };
  const read = (connection: SavedConnection, query: ReadQuery): Promise<QueryRows> => {
    // It may have changed since it was found.
    const row = followed.row(connection.id);
    const password = row === undefined ? null : openPassword(secretBox, row);
    const hidden: Target = { connection, password: password ?? null };
    return bounded(query, hidden, (signal, leftMs) => {
      targetOf(secretBox, row);
      return poolOf(connection).use(signal, (session) =>
        session.read(sessionQuery(query, query.maxRows, leftMs())),
      );
    });
  };
  const write = ({ id }: SavedConnection, { signal, ...rows }: RowWrite): Promise<void> => {
    const target = targetOf(secretBox, followed.row(id));
    const limits = { timeoutMs: rows.timeoutMs, signal };
    return bounded(limits, target, async (within, leftMs) => {
      const session = await drivers[target.connection.kind](target, within);
      const work = session.write({ ...rows, timeoutMs: leftMs() });
      try {
        await untilAborted(work, within);
      } catch (thrown) {
        if (within.aborted)
          await session.cancel(AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
        throw thrown;
      } finally {
        work.catch(() => undefined);
        session.close();
      }
    });
  };
  const tryTarget = (target: Target, signal: AbortSignal) =>
    tryConnection(drivers[target.connection.kind], target, signal);
  return {
    saved: {
      list: followed.list,
      find: followed.find,
      read,
      async describe(connection, signal) {
        const sql = DIALECTS[connection.kind].describe;
        const maxRows = TABLES_MAX * COLUMNS_MAX;
        return tablesOf(
          await read(connection, { sql, maxRows, timeoutMs: DESCRIBE_TIMEOUT_MS, signal }),
        );
      },
    },
    desk: { database, clock, secretBox, fileConnections, catchUp: followed.catchUp },
    write,
    tryTarget,
    async testSaved(row, signal) {
      try {
        return await tryTarget(targetOf(secretBox, row), signal);
      } catch (thrown) {
        if (thrown instanceof ServiceError) return failedTrial(thrown);
        throw thrown;
      }
    },
    metrics: followed.metrics,
    async close() {
      followed.close();
      for (const pool of pools.values()) pool.closeAll();
      sqlite.close();
    },
  };
}

/** Throws a `ServiceError` for a connection that cannot be used any more. */
function targetOf(secretBox: SecretBox, row: ConnectionRow | undefined): Target {
  if (row === undefined) {
    throw new ServiceError("not_found", "This saved connection has been deleted.");
  }
  const password = openPassword(secretBox, row);
  if (password !== undefined) return { connection: toConnection(row), password };
  throw new ServiceError(
    "upstream_error",
    `Saved connection '${row.name}': its password cannot be opened, because APP_SECRET has changed. An administrator has to send the password again.`,
  );
}

function sessionQuery(
  { sql, parameters }: Pick<ReadQuery, "sql" | "parameters">,
  maxRows: number,
  timeoutMs: number,
): SessionQuery {
  return { sql, parameters, maxRows, timeoutMs, maxBytes: RESULT_MAX_BYTES };
}

/** Runs work within a time, and explains its failure. */
async function bounded<Result>(
  { timeoutMs, signal }: Pick<ReadQuery, "timeoutMs" | "signal">,
  target: Target,
  work: (signal: AbortSignal, leftMs: () => number) => Promise<Result>,
): Promise<Result> {
  const time = AbortSignal.timeout(timeoutMs);
  const startedMs = performance.now();
  const leftMs = () => Math.max(1, timeoutMs - (performance.now() - startedMs));
  try {
    return await work(AbortSignal.any([signal, time]), leftMs);
  } catch (thrown) {
    signal.throwIfAborted();
    if (!time.aborted) throw explainFailure(thrown, target);
    throw tookTooLong(target, timeoutMs, thrown);
  }
}

function tookTooLong({ connection }: Target, timeoutMs: number, cause: unknown): ServiceError {
  return new ServiceError(
    "upstream_timeout",
    `Saved connection '${connection.name}': it took longer than ${timeoutMs / 1_000} s and was ended.`,
    { cause },
  );
}

async function tryConnection(
  open: OpenSession,
  target: Target,
  signal: AbortSignal,
): Promise<ConnectionTrial> {
  const { version, countTables } = DIALECTS[target.connection.kind];
  try {
    return await bounded({ timeoutMs: TEST_TIMEOUT_MS, signal }, target, async (within, leftMs) => {
      const startedMs = performance.now();
      let session = await open(target, within);
      const end = () => session.close();
      within.addEventListener("abort", end, { once: true });
      try {
        const ask = async (current: Session, sql: string) => {
          const { rows } = await current.read(sessionQuery({ sql }, 1, leftMs()));
          return rows[0]?.[0] ?? null;
        };
        const serverVersion = String(await ask(session, version)).slice(0, 200);
        const latencyMs = Math.ceil(performance.now() - startedMs);
        await session.reset();
        if (!session.isUsable()) session = await open(target, within);
        const tables = Number(await ask(session, countTables));
        return { ok: true, latencyMs, serverVersion, tables, error: null };
      } finally {
        within.removeEventListener("abort", end);
        session.close();
      }
    });
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ServiceError) return failedTrial(thrown);
    throw thrown;
  }
}

function failedTrial({ message }: ServiceError): ConnectionTrial {
  return { ok: false, latencyMs: null, serverVersion: null, tables: null, error: message };
}

function tablesOf({ rows }: QueryRows): readonly TableShape[] {
  const tables = new Map<string, { readonly name: string; readonly type: string }[]>();
  for (const [table, name, type] of rows) {
    const columns = tables.get(String(table)) ?? [];
    tables.set(String(table), columns);
    if (typeof name === "string") columns.push({ name, type: String(type ?? "") });
  }
  return [...tables].map(([name, columns]) => ({ name, columns }));
}
