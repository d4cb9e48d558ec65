import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/db/connect.ts";
import type { Database } from "../../src/db/database.ts";
import { type MovableAddress, startMovableAddress } from "../support/faults/movable-address.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../support/servers/databases/postgres-cluster.ts";

const writer = await startPostgresCluster();
const demoted = await startPostgresCluster();
const change = sql`insert into kept values (1)`;

afterAll(async () => {
  await writer?.remove();
  await demoted?.remove();
});

const portOf = ({ url }: PostgresCluster): number => Number(new URL(url).port);
const open = (url: string): Database =>
  connect({
    ...{ kind: "postgres", url, waitMs: 2_000 },
    driver: { max: 2, connect_timeout: 5 },
    work: { max: 2, connect_timeout: 5 },
    callers: { max: 2, connect_timeout: 5 },
  });

async function prepare(cluster: PostgresCluster, isReadOnly: boolean): Promise<void> {
  const database = open(cluster.url);
  await database.db.execute(sql`create table kept (id int)`);
  if (isReadOnly)
    await database.db.execute(sql`alter database postgres set default_transaction_read_only = on`);
  await database.close();
}

if (writer !== undefined && demoted !== undefined) {
  describe("a server that takes no changes any more", () => {
    let address: MovableAddress;
    let database: Database;

    beforeAll(async () => {
      await Promise.all([prepare(writer, false), prepare(demoted, true)]);
    });

    const begin = async () => {
      address = await startMovableAddress(portOf(demoted));
      database = open(`postgres://postgres@127.0.0.1:${address.port}/postgres`);
    };
    const end = async () => {
      await database.close();
      await address.stop();
    };

    it.each([
      ["a caller's change", () => database.ask((db) => db.execute(change))],
      ["the gateway's own change", () => database.askOwn((db) => db.execute(change))],
      ["a job's change", () => database.db.execute(change)],
      ["a run's change", () => database.work.execute(change)],
      [
        "a change in a transaction",
        () => database.work.transaction((inner) => inner.execute(change)),
      ],
      [
        "readiness",
        async () => {
          if (!(await database.ping())) throw new Error("not ready");
        },
      ],
    ])(
      "is left by %s for the one that its address leads to, on all connections",
      async (_, work) => {
        await begin();
        const attempt = () =>
          work().then(
            () => true,
            () => false,
          );
        expect(await attempt()).toBe(false);
        expect(await attempt()).toBe(false);
        address.moveTo(portOf(writer));
        await expect.poll(attempt, { timeout: 30_000, interval: 100 }).toBe(true);
        for (const run of [database.ask, database.askOwn]) await run((db) => db.execute(change));
        await database.work.execute(change);
        expect(await database.ping()).toBe(true);
        await end();
      },
    );

    it("fails the readiness check, which says so, while queries that only read are answered", async () => {
      await begin();
      expect(database.isReadOnly()).toBe(false);
      expect(await database.ping()).toBe(false);
      expect(database.isReadOnly()).toBe(true);
      expect(await database.ask((db) => db.execute(sql`select * from kept`))).toEqual([]);
      address.moveTo(portOf(writer));
      await expect.poll(() => database.ping(), { timeout: 30_000 }).toBe(true);
      expect(database.isReadOnly()).toBe(false);
      await end();
    });

    it("gets new connections about once a second, however many changes it refuses", async () => {
      await begin();
      const startedAt = performance.now();
      let refused = 0;
      while (performance.now() < startedAt + 1_500) {
        await database.ask((db) => db.execute(change)).catch(() => (refused += 1));
      }
      expect(refused).toBeGreaterThan(5);
      const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
      expect(address.accepted()).toBeLessThanOrEqual(1 + seconds);
      await end();
    });
  });
}
