import { drizzle } from "drizzle-orm/postgres-js";
import type { Options, PostgresType } from "postgres";
import postgres from "postgres";
import type { Db } from "./context.ts";
import { isReadOnly, toDatabaseError } from "./database-error.ts";
import { createLosses, safeClient } from "./safe-client.ts";

/** The seconds that running queries get when a pool closes. */
const CLOSE_TIMEOUT_SECONDS = 5;
const APPLICATION_NAME = "inference-gateway";

export interface PoolOptions {
  /** Absent for a unix socket, whose path is in `driver`. */
  readonly url?: string | undefined;
  readonly driver: Options<Record<string, PostgresType>>;
  /** Called when new connections have replaced the old ones. */
  readonly onRenewed: () => void;
  /** Called when the server has refused a change because it takes none. */
  readonly onReadOnly: () => void;
}

export interface RenewedPool {
  /** Stays valid when the connections are replaced. */
  readonly db: Db;
  /** Replaces all connections. */
  readonly renew: () => void;
  readonly close: () => Promise<void>;
}

interface Pool {
  readonly db: Db;
  readonly close: () => Promise<void>;
}

/**
 * Opens a pool that survives the loss of connections; it connects at the first query. The driver's own pool does not:
 * it can leave a dead connection in place permanently, and queries unanswered. So the first loss retires the driver's
 * pool; its running queries end there within a time limit.
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

/** Returns a handle that always uses the current pool. */
function alwaysCurrent(current: () => Db): Db {
  return new Proxy(current(), {
    get(_, name) {
      const db = current();
      const member: unknown = Reflect.get(db, name);
      return typeof member === "function" ? member.bind(db) : member;
    },
  });
}

function openPool({ url, driver, onReadOnly }: PoolOptions, onLost: () => void): Pool {
  const losses = createLosses();
  const options: Options<Record<string, PostgresType>> = {
    onnotice: () => undefined,
    onclose() {
      losses.note();
      onLost();
    },
    // The driver does not handle a failure of this extra query, which would end the process. Arrays are parsed by
    // drizzle.
    fetch_types: false,
    max_lifetime: null,
    ...driver,
    connection: { application_name: APPLICATION_NAME, TimeZone: "UTC", ...driver.connection },
  };
  const sql = url === undefined ? postgres(options) : postgres(url, options);
  const onFailure = (thrown: unknown): void => {
    if (isReadOnly(toDatabaseError(thrown))) onReadOnly();
  };
  return {
    db: drizzle(safeClient(sql, { losses, onFailure })),
    close: () => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}
