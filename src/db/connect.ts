import { drizzle } from "drizzle-orm/postgres-js";
import type { Options, PostgresType } from "postgres";
import postgres from "postgres";
import { askWithin } from "./ask-within.ts";
import type { Db } from "./context.ts";
import type { Database } from "./database.ts";

/** Seconds that open queries get when a pool closes. */
const CLOSE_TIMEOUT_SECONDS = 5;
const APPLICATION_NAME = "inference-gateway";

export interface ConnectOptions {
  readonly kind: Database["kind"];
  /** Absent for a unix socket, whose path is then in `driver`. */
  readonly url?: string | undefined;
  readonly driver: Options<Record<string, PostgresType>>;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
}

interface Pool {
  readonly db: Db;
  readonly close: () => Promise<void>;
}

/** A pool of connections that speaks to PostgreSQL, embedded or not. Connects at the first query. */
export function connect(options: ConnectOptions): Database {
  const { kind, waitMs } = options;
  let isClosing = false;

  // The driver's pool does not survive the loss of a connection: it may leave one dead for good and queries
  // unanswered. So the first loss retires the pool; what it still has in hand ends there, in time.
  const open = (): Pool => {
    const pool = openPool(options, () => {
      if (pool !== current || isClosing) return;
      current = open();
      void pool.close();
    });
    return pool;
  };
  let current = open();

  const db = alwaysCurrent(() => current.db);
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
    close() {
      isClosing = true;
      return current.close();
    },
  };
}

/** A handle that stays good while pools come and go: each use goes to the one of the moment. */
function alwaysCurrent(current: () => Db): Db {
  return new Proxy(current(), {
    get(_, name) {
      const db = current();
      const member: unknown = Reflect.get(db, name);
      return typeof member === "function" ? member.bind(db) : member;
    },
  });
}

function openPool({ url, driver }: ConnectOptions, onLost: () => void): Pool {
  const options: Options<Record<string, PostgresType>> = {
    onnotice: () => undefined,
    onclose: onLost,
    // The driver leaves a failure of this extra query unhandled, which ends the process. Arrays are drizzle's to read.
    fetch_types: false,
    max_lifetime: null,
    ...driver,
    connection: { application_name: APPLICATION_NAME, TimeZone: "UTC", ...driver.connection },
  };
  const sql = url === undefined ? postgres(options) : postgres(url, options);
  return { db: drizzle(sql), close: () => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }) };
}
