import type { Db } from "./context.ts";
import type { Ask, Database } from "./database.ts";
import { createQueryGate, type QueryGate } from "./query-gate.ts";
import { openRenewedPool, type PoolOptions, type RenewedPool } from "./renewed-pool.ts";

type Driver = PoolOptions["driver"] & { readonly max: number };

export interface ConnectOptions extends Pick<PoolOptions, "url"> {
  readonly kind: Database["kind"];
  /** Of the gateway's own connections. */
  readonly driver: Driver;
  /** Of those for callers; undefined where both share the same. */
  readonly callers?: Driver;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
}

/** The connections to PostgreSQL, embedded or not, and the gates before them. Connects at the first query. */
export function connect(options: ConnectOptions): Database {
  const own = openGatedPool(options, options.driver);
  const callers = options.callers === undefined ? own : openGatedPool(options, options.callers);
  const ownGate = own.addGate();
  const callersGate = callers.addGate();
  // What the gateway does for itself may end late: it is done again until it is done.
  const askOwn: Ask = (work) => ownGate.ask(() => work(own.db));
  return {
    db: own.db,
    kind: options.kind,
    ask: (work) => callersGate.ask((signal) => work(commitWhileAwaited(callers.db, signal))),
    askOwn,
    ping: () =>
      askOwn((db) => db.execute("select 1")).then(
        () => true,
        () => false,
      ),
    figures: callersGate.figures,
    async close() {
      await Promise.all([...new Set([own, callers])].map((pool) => pool.close()));
    },
  };
}

interface GatedPool extends RenewedPool {
  /** A new gate before the pool, for those who are not to stand in one line with others. */
  readonly addGate: () => QueryGate;
}

function openGatedPool({ kind, url, waitMs }: ConnectOptions, driver: Driver): GatedPool {
  const gates: QueryGate[] = [];
  const onRenewed = () => {
    for (const gate of gates) gate.renew();
  };
  const pool = openRenewedPool({ url, driver, onRenewed });
  // The embedded database has a watch of its own, which replaces its thread.
  const onHung = kind === "postgres" ? pool.renew : () => undefined;
  return {
    ...pool,
    addGate() {
      const gate = createQueryGate({ waitMs, max: driver.max, onHung });
      gates.push(gate);
      return gate;
    },
  };
}

/**
 * The handle for a work that its caller may give up on. A transaction that ends after that is rolled back: the caller
 * was told that nothing happened, and what only the answer would have shown, such as a new secret, is lost.
 *
 * @param signal aborted when the caller has given up; its reason is what the transaction rejects with.
 */
export function commitWhileAwaited(db: Db, signal: AbortSignal): Db {
  const transaction: Db["transaction"] = (work, config) =>
    db.transaction(async (inner) => {
      const result = await work(inner);
      signal.throwIfAborted();
      return result;
    }, config);
  return new Proxy(db, {
    get: (target, name): unknown =>
      name === "transaction" ? transaction : Reflect.get(target, name),
  });
}
