import type { Db } from "./context.ts";
import type { Ask, Database } from "./database.ts";
import { createQueryGate, type QueryGate } from "./query-gate.ts";
import { openRenewedPool, type PoolOptions, type RenewedPool } from "./renewed-pool.ts";

/** Between two replacements of connections to a server that takes no changes: it stays so for seconds or minutes. */
const RENEWAL_PAUSE_MS = 1_000;

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
  const reach = new WriterSearch(() => {
    for (const pool of new Set([own, callers, work])) pool.renew();
  });
  const onReadOnly = () => reach.renew();
  const apart = options.work && openGatedPool(options, options.work, { onReadOnly });
  // Runs have no gate, which would see that their connections are dead: a server that vanished is gone for both.
  const onHung = () => apart?.renew();
  const own = openGatedPool(options, options.driver, { onReadOnly, onHung });
  const work = apart ?? own;
  const callers =
    options.callers === undefined ? own : openGatedPool(options, options.callers, { onReadOnly });
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
    ping: () => reach.note(askOwn(takesChanges)),
    isReadOnly: () => reach.isReadOnly,
    figures: callersGate.figures,
    async close() {
      await Promise.all([...new Set([own, callers, work])].map((pool) => pool.close()));
    },
  };
}

async function takesChanges(db: Db): Promise<boolean> {
  const [row] = await db.execute<{ state: string }>(
    "select current_setting('transaction_read_only') as state",
  );
  return row?.state === "off";
}

/**
 * Looks for the server that takes changes. After a switch-over, connections may stay with a server that no longer does,
 * or a name may lead to it for a while: new connections reach the other one as soon as the address does.
 */
class WriterSearch {
  /** What the last ping found. */
  isReadOnly = false;
  readonly #renewPools: () => void;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(renewPools: () => void) {
    this.#renewPools = renewPools;
  }

  /** Replaces all connections, unless that was done just now. */
  renew(): void {
    const now = performance.now();
    if (now - this.#renewedAt < RENEWAL_PAUSE_MS) return;
    this.#renewedAt = now;
    this.#renewPools();
  }

  /** Resolves with what the ping did, false when it failed. */
  async note(pinging: Promise<boolean>): Promise<boolean> {
    const answer = await pinging.catch(() => undefined);
    this.isReadOnly = answer === false;
    if (this.isReadOnly) this.renew();
    return answer === true;
  }
}

interface GatedPool extends RenewedPool {
  /** Adds a gate in front of the pool, with a queue of its own. */
  readonly addGate: () => QueryGate;
}

interface GatedPoolCalls {
  /** As the pool takes it. */
  readonly onReadOnly: () => void;
  /** Called when the pool's connections are replaced because the server has vanished. */
  readonly onHung?: () => void;
}

function openGatedPool(
  { kind, url, waitMs, hungMs }: ConnectOptions,
  driver: Driver,
  { onReadOnly, onHung }: GatedPoolCalls,
): GatedPool {
  const gates: QueryGate[] = [];
  const onRenewed = () => {
    for (const gate of gates) gate.renew();
  };
  const pool = openRenewedPool({ url, driver, onRenewed, onReadOnly });
  const renew = (): void => {
    // The embedded database has its own watchdog, which replaces its thread.
    if (kind === "postgres") pool.renew();
  };
  const leaveHung = () => {
    renew();
    onHung?.();
  };
  return {
    ...pool,
    renew,
    addGate() {
      const gate = createQueryGate({ waitMs, hungMs, max: driver.max, onHung: leaveHung });
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
