import type { Db } from "./context.ts";
import type { Ask, Database } from "./database.ts";
import { createQueryGate, type QueryGate } from "./query-gate.ts";
import { openRenewedPool, type PoolOptions, type RenewedPool } from "./renewed-pool.ts";

type Driver = PoolOptions["driver"] & { readonly max: number };

export interface ConnectOptions extends Pick<PoolOptions, "url"> {
  readonly kind: Database["kind"];
  /** The options of the gateway's own connections. */
  readonly driver: Driver;
  /** The options of the callers' connections; undefined where both share the same. */
  readonly callers?: Driver;
  /** The options of the connections for work that others start; undefined where it shares the gateway's own. */
  readonly work?: Driver;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  /** As the gates take it. */
  readonly hungMs?: number;
}

/**
 * Opens the connections to PostgreSQL, embedded or not, and the gates in front of them. Connects at the first query.
 */
export function connect(options: ConnectOptions): Database {
  const apart = options.work && openGatedPool(options, options.work);
  // Runs have no gate, which would see that their connections are dead: a server that vanished is gone for both.
  const own = openGatedPool(options, options.driver, () => apart?.renew());
  const work = apart ?? own;
  const callers = options.callers === undefined ? own : openGatedPool(options, options.callers);
  const ownGate = own.addGate();
  const callersGate = callers.addGate();
  // The gateway's own work may end late, because it is retried until it succeeds.
  const askOwn: Ask = (work) => ownGate.ask(() => work(own.db));
  return {
    db: own.db,
    work: work.db,
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
      await Promise.all([...new Set([own, callers, work])].map((pool) => pool.close()));
    },
  };
}

interface GatedPool extends RenewedPool {
  /** Adds a gate in front of the pool, with a queue of its own. */
  readonly addGate: () => QueryGate;
}

/** @param onHung called when the pool's connections are replaced because the server has vanished. */
function openGatedPool(
  { kind, url, waitMs, hungMs }: ConnectOptions,
  driver: Driver,
  onHung: () => void = () => undefined,
): GatedPool {
  const gates: QueryGate[] = [];
  const onRenewed = () => {
    for (const gate of gates) gate.renew();
  };
  const pool = openRenewedPool({ url, driver, onRenewed });
  const renew = (): void => {
    // The embedded database has its own watchdog, which replaces its thread.
    if (kind !== "postgres") return;
    pool.renew();
    onHung();
  };
  return {
    ...pool,
    addGate() {
      const gate = createQueryGate({ waitMs, hungMs, max: driver.max, onHung: renew });
      gates.push(gate);
      return gate;
    },
  };
}

/**
 * Wraps the handle for work that its caller may abandon. A transaction that ends after that is rolled back. The caller
 * got an error, and data that only the answer would have shown, such as a new secret, is lost.
 *
 * @param signal aborted when the caller has given up; the transaction rejects with its reason.
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
