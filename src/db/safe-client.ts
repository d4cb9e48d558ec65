import type { Sql, TransactionSql } from "postgres";
import { isConnectionLost, toDatabaseError } from "./database-error.ts";

/** Knows of the connections that a pool has lost just now. */
export interface Losses {
  /** Must be called synchronously when a connection has closed. */
  readonly note: () => void;
  /** True while the driver may not have told all transactions yet which of them had the lost connection. */
  readonly areFresh: () => boolean;
  /** Resolves when they no longer are. */
  readonly told: () => Promise<void>;
}

/** Creates the memory of a pool's losses. The driver tells a transaction before the next turn of the event loop. */
export function createLosses(): Losses {
  let fresh = 0;
  const areFresh = (): boolean => fresh > 0;
  return {
    note() {
      fresh += 1;
      setImmediate(() => {
        fresh -= 1;
      });
    },
    areFresh,
    async told() {
      while (areFresh()) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

export interface SafeClientOptions {
  readonly losses: Losses;
  /** Called with each error of a statement. */
  readonly onFailure: (thrown: unknown) => void;
}

/**
 * Returns the driver's client with transactions that end well when their connection is lost. The driver sends a
 * transaction's statements on the connection that it began on, also after that has closed: the write then ends the
 * process by an uncaught error or, when the connection was opened again, the statement runs outside of any transaction.
 * So nothing is handed to the driver after the loss, and in the turn of a loss nothing by any transaction of the pool,
 * because the driver has not told yet whose connection it was.
 */
export function safeClient(sql: Sql, options: SafeClientOptions): Sql {
  const begin = <Result>(work: (transaction: TransactionSql) => Promise<Result>) =>
    new SafeTransaction(options).run(sql, work);
  return withMembers(sql, { unsafe: watched(sql, options.onFailure), begin });
}

class SafeTransaction {
  readonly #losses: Losses;
  readonly #onFailure: (thrown: unknown) => void;
  /** The driver has ended it. It does so when the connection closes, too. */
  #isOver = false;
  /** A statement has failed because the connection is about to close. */
  #isFailing = false;

  constructor({ losses, onFailure }: SafeClientOptions) {
    this.#losses = losses;
    this.#onFailure = onFailure;
  }

  run<Result>(sql: Sql, work: (transaction: TransactionSql) => Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const begun = (transaction: TransactionSql): Promise<Result> => {
        if (!this.#losses.areFresh()) return this.#whileOpen(work(this.#safe(transaction)));
        // The driver watches the connection only from now on, so it would not tell.
        reject(connectionClosed());
        return never();
      };
      const end = () => {
        this.#isOver = true;
      };
      (sql.begin(begun) as Promise<Result>).finally(end).then(resolve, reject);
    });
  }

  #safe(transaction: TransactionSql): TransactionSql {
    const send = watched(transaction, (thrown) => {
      if (isConnectionLost(toDatabaseError(thrown))) this.#isFailing = true;
      this.#onFailure(thrown);
    });
    const unsafe: Sql["unsafe"] = (...given) => {
      this.#refuseClosed();
      return send(...given);
    };
    const savepoint = async <Result>(work: (inner: TransactionSql) => Promise<Result>) => {
      this.#refuseClosed();
      return new Promise((resolve, reject) => {
        const begun = (inner: TransactionSql) =>
          this.#whileOpen(work(this.#safe(inner)), () => reject(connectionClosed()));
        transaction.savepoint(begun).then(resolve, reject);
      });
    };
    return withMembers(transaction, { unsafe, savepoint });
  }

  #refuseClosed(): void {
    if (this.#isOver || this.#isFailing || this.#losses.areFresh()) throw connectionClosed();
  }

  /**
   * Settles as the work does, upon which the driver sends `commit` or `rollback`; never when the connection is lost. The
   * driver then rejects the transaction itself, but no savepoint.
   */
  async #whileOpen<Result>(
    working: Promise<Result>,
    onLost: () => void = () => undefined,
  ): Promise<Result> {
    try {
      return await working;
    } finally {
      await this.#losses.told();
      if (this.#isOver || this.#isFailing) {
        onLost();
        await never();
      }
    }
  }
}

/** Returns the function that sends a statement. It also tells of the statement's failure. */
function watched(
  client: Sql | TransactionSql,
  onFailure: (thrown: unknown) => void,
): Sql["unsafe"] {
  return (...given) => {
    const query = client.unsafe(...given);
    query.catch(onFailure);
    return query as never;
  };
}

function withMembers<Client extends object>(client: Client, members: object): Client {
  return new Proxy(client, {
    get: (target, name): unknown =>
      Reflect.get(Object.hasOwn(members, name) ? members : target, name),
  });
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** As the driver rejects with when a connection closes. */
function connectionClosed(): Error {
  return Object.assign(new Error("the connection has closed"), { code: "CONNECTION_CLOSED" });
}
