import { drizzle } from "drizzle-orm/postgres-js";
import type { Options, PostgresType } from "postgres";
import postgres from "postgres";
import type { Db } from "./context.ts";

/** Seconds that open queries get when a pool closes. */
const CLOSE_TIMEOUT_SECONDS = 5;
const APPLICATION_NAME = "inference-gateway";

export interface PoolOptions {
  /** Absent for a unix socket, whose path is then in `driver`. */
  readonly url?: string | undefined;
  readonly driver: Options<Record<string, PostgresType>>;
  /** Called when new connections have taken the place of the old ones. */
  readonly onRenewed: () => void;
}

export interface RenewedPool {
  /** Stays good however often the connections are replaced. */
  readonly db: Db;
  /** Lets all connections go and begins anew. */
  readonly renew: () => void;
  readonly close: () => Promise<void>;
}

interface Pool {
  readonly db: Db;
  readonly close: () => Promise<void>;
}

/**
 * A pool of connections that outlives them; connects at the first query. The driver's own does not survive the loss
 * of a connection: it may leave one dead for good and queries unanswered. So the first loss retires it; what it still
 * has in hand ends there, in time.
 */
export function openRenewedPool(options: PoolOptions): RenewedPool {
  let isClosing = false;
  const open = (): Pool => {
    const pool = openPool(options, () => {
      if (pool === current) renew();
    });
    return pool;
  };
  const renew = (): void => {
    if (isClosing) return;
    const retired = current;
    current = open();
    void retired.close();
    options.onRenewed();
  };
  let current = open();
  return {
    db: alwaysCurrent(() => current.db),
    renew,
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

function openPool({ url, driver }: PoolOptions, onLost: () => void): Pool {
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
