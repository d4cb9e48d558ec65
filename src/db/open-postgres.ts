import type { Settings } from "../config/settings.ts";
import { connect } from "./connect.ts";
import type { Database } from "./database.ts";

/** Longest a statement, and the wait for a row's lock within it, may take on the server. */
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;

type PoolSettings = Pick<Settings, "DB_POOL_MAX" | "DB_POOL_WAIT_MS">;

/** A pool on the PostgreSQL server at `url`. */
export function openPostgres(url: string, settings: PoolSettings): Database {
  return connect({
    kind: "postgres",
    url,
    waitMs: settings.DB_POOL_WAIT_MS,
    driver: {
      max: settings.DB_POOL_MAX,
      connect_timeout: Math.ceil(settings.DB_POOL_WAIT_MS / 1_000),
      connection: {
        statement_timeout: STATEMENT_TIMEOUT_MS,
        lock_timeout: LOCK_TIMEOUT_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      },
    },
  });
}
