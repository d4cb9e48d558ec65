import { drizzle } from "drizzle-orm/postgres-js";
import type { Options, PostgresType } from "postgres";
import postgres from "postgres";
import { askWithin } from "./ask-within.ts";
import type { Database } from "./database.ts";

/** Seconds that open queries get when the pool closes. */
const CLOSE_TIMEOUT_SECONDS = 5;
/** Pause before a lost connection is made again; the driver's own would grow to 20 s. */
const RECONNECT_PAUSE_SECONDS = 0.25;
const APPLICATION_NAME = "inference-gateway";

export interface ConnectOptions {
  readonly kind: Database["kind"];
  /** Absent for a unix socket, whose path is then in `driver`. */
  readonly url?: string | undefined;
  readonly driver: Options<Record<string, PostgresType>>;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
}

/** A pool of connections that speaks to PostgreSQL, embedded or not. Connects at the first query. */
export function connect({ kind, url, driver, waitMs }: ConnectOptions): Database {
  const options: Options<Record<string, PostgresType>> = {
    onnotice: () => undefined,
    // The driver leaves a failure of this extra query unhandled, which ends the process. Arrays are drizzle's to read.
    fetch_types: false,
    backoff: () => RECONNECT_PAUSE_SECONDS,
    ...driver,
    connection: { application_name: APPLICATION_NAME, TimeZone: "UTC", ...driver.connection },
  };
  const sql = url === undefined ? postgres(options) : postgres(url, options);
  const db = drizzle(sql);
  const ask = askWithin(waitMs);
  return {
    db,
    kind,
    ask: (work) => ask(() => work(db)),
    ping: () =>
      ask(() => db.execute("select 1")).then(
        () => true,
        () => false,
      ),
    close: () => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}
