import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "../config/settings.ts";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import type { Log } from "../lib/log.ts";
import { connect } from "./connect.ts";
import type { Database } from "./database.ts";
import { type DatabaseError, isUnavailable, toDatabaseError } from "./database-error.ts";

/** Connections for the gateway's own work: usage, keys, alerts, metrics, jobs. */
const OWN_CONNECTIONS = 4;
/** Connections for the work of runs: their transactions wait for each other's rows. */
const WORK_CONNECTIONS = 4;
/** The time limits on the server for the gateway's own statements, and for a wait for a row lock within them. */
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

type PoolSettings = Pick<Settings, "DB_POOL_MAX" | "DB_POOL_WAIT_MS">;

/** How long a start waits for a database server that is still starting. */
const START_WAIT_MS = 30_000;
const START_PAUSE_MS = 250;

/**
 * Opens connections to the PostgreSQL server at `url`, DB_POOL_MAX of them for callers. Throws a StartRefusal when the
 * server cannot be reached.
 */
export async function openPostgres(
  url: string,
  settings: PoolSettings,
  log: Log,
): Promise<Database> {
  const limits = {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    // JIT compilation takes longer than it saves for these statements; it took a third of the time of an hourly report.
    jit: "off",
  };
  const connect_timeout = Math.ceil(settings.DB_POOL_WAIT_MS / 1_000);
  const database = connect({
    kind: "postgres",
    url,
    waitMs: settings.DB_POOL_WAIT_MS,
    driver: { max: OWN_CONNECTIONS, connect_timeout, connection: limits },
    work: { max: WORK_CONNECTIONS, connect_timeout, connection: limits },
    callers: {
      max: settings.DB_POOL_MAX,
      connect_timeout,
      // After that no caller waits for the statement, so its connection is freed.
      connection: { ...limits, statement_timeout: settings.DB_POOL_WAIT_MS },
    },
  });
  const failure = await waitForServer(database, log);
  if (failure === undefined) return database;
  await database.close();
  throw new StartRefusal(
    `The database at DATABASE_URL cannot be used: ${failure.code}. ` +
      "Check its address, user, password and database name, and that the server runs.",
  );
}

async function waitForServer({ db }: Database, log: Log): Promise<DatabaseError | undefined> {
  const deadline = performance.now() + START_WAIT_MS;
  for (let attempt = 0; ; attempt += 1) {
    const failure = await db.execute("select 1").then(() => undefined, toDatabaseError);
    if (failure === undefined) return undefined;
    if (!isUnavailable(failure) || performance.now() > deadline) return failure;
    if (attempt === 0) log.warn({ code: failure.code }, "waiting for the database");
    await sleep(START_PAUSE_MS);
  }
}
