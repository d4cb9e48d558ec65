import { setImmediate as turn } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { connect } from "../../src/db/connect.ts";
import { type Db, withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { startPostgresCluster } from "../support/servers/databases/postgres-cluster.ts";

const CONNECTIONS = 4;
const cluster = await startPostgresCluster();
const one = sql`select 1`;

afterAll(() => cluster?.remove());

/** Work in a transaction; `crash` resolves when the server is down and the transaction has been rejected. */
type Work = (transaction: Db, crash: Promise<void>) => Promise<unknown>;

const inDriverTransaction = (db: Db, work: (transaction: Db) => Promise<unknown>) =>
  db.transaction(work);

/** Opens all of them, because the first one that closes decides about the others. */
async function openConnected(url: string): Promise<Database> {
  const database = connect({
    ...{ kind: "postgres", url, waitMs: 2_000 },
    driver: { max: CONNECTIONS, connect_timeout: 5 },
  });
  await Promise.all(
    Array.from({ length: CONNECTIONS }, () => database.db.execute(sql`select pg_sleep(0.2)`)),
  );
  return database;
}

const works: readonly (readonly [string, Work])[] = [
  ["await an answer", (transaction) => transaction.execute(sql`select pg_sleep(60)`)],
  [
    "go on with statements afterwards",
    async (transaction, crash) => {
      await crash;
      await expect(transaction.execute(one)).rejects.toThrow();
      await transaction.execute(one);
    },
  ],
  ["end well afterwards", (_, crash) => crash],
  [
    "fail afterwards",
    async (_, crash) => {
      await crash;
      throw new Error("of its own");
    },
  ],
  [
    "begin a savepoint afterwards",
    async (transaction, crash) => {
      await crash;
      await transaction.transaction((inner) => inner.execute(one));
    },
  ],
  [
    "are in a savepoint",
    (transaction, crash) =>
      transaction.transaction(async (inner) => {
        await crash;
        await inner.execute(one);
      }),
  ],
];

if (cluster !== undefined) {
  describe.each([
    ["withTransaction", withTransaction],
    ["the database's own transaction", inDriverTransaction],
  ] as const)("a PostgreSQL that crashes during %s", (_, begin) => {
    let database: Database;
    beforeEach(async () => {
      database = await openConnected(cluster.url);
      return () => database.close();
    });

    it.each(works)("does not end the process when transactions %s", async (_, work) => {
      const crash = signal();
      const begun = signal();
      let working: Promise<unknown> = Promise.resolve();
      const outcome = begin(database.db, async (transaction) => {
        await transaction.execute(one);
        begun.give();
        working = work(transaction, crash.given);
        return working;
      }).then(
        () => "committed",
        () => "lost",
      );
      await begun.given;
      await cluster.stop("immediate");
      expect(await outcome).toBe("lost");
      crash.give();
      await working.catch(() => undefined);
      // The driver writes at the end of a turn of the event loop.
      await turn();
      await turn();
      await cluster.start();
      await expect.poll(() => database.ping(), { timeout: 30_000 }).toBe(true);
    });
  });

  describe("a connection that is lost alone", () => {
    it("takes its transaction along, whose late statements run nowhere, and leaves the others", async () => {
      const database = await openConnected(cluster.url);
      await database.db.execute(sql`create table late (id int)`);
      const [begun, lost, ended] = [signal(), signal(), signal()];
      let late: Promise<unknown> = Promise.resolve();
      let pid = 0;
      const doomed = withTransaction(database.db, async (transaction) => {
        [pid] = await backendOf(transaction);
        begun.give();
        await lost.given;
        late = transaction.execute(sql`insert into late values (1)`);
        await late;
      });
      const rejected = expect(doomed).rejects.toThrow();
      const other = withTransaction(database.db, async (transaction) => {
        await transaction.execute(sql`insert into late values (2)`);
        await ended.given;
        await transaction.execute(sql`insert into late values (3)`);
      });
      await begun.given;
      // These wait for a connection, and get the one that is opened again.
      const waiting = Promise.allSettled(
        Array.from({ length: CONNECTIONS }, () => database.db.execute(sql`select pg_sleep(1)`)),
      );
      const admin = await openConnected(cluster.url);
      await admin.db.execute(sql`select pg_terminate_backend(${pid})`);
      await rejected;
      await waiting;
      lost.give();
      await turn();
      await expect(late).rejects.toThrow();
      ended.give();
      await other;
      const rows = await database.db.execute(sql`select id from late order by id`);
      expect(rows.map(({ id }) => id)).toEqual([2, 3]);
      await Promise.all([admin.close(), database.close()]);
    });
  });
}

async function backendOf(transaction: Db): Promise<[number]> {
  const [row] = await transaction.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  return [row?.pid ?? 0];
}

function signal() {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
