import { sql } from "drizzle-orm";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { connect as connectTo } from "../../src/db/connect.ts";
import type { Database } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/open-postgres.ts";
import { createLog } from "../../src/lib/log.ts";
import { startTcpFault } from "../support/faults/tcp-fault.ts";
import { startPostgresCluster } from "../support/servers/databases/postgres-cluster.ts";

const log = createLog("silent");
const open: Database[] = [];
const cluster = await startPostgresCluster();

afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

afterAll(() => cluster?.remove());

async function connect(url: string, waitMs = 2_000): Promise<Database> {
  const database = await openPostgres(url, { DB_POOL_MAX: 3, DB_POOL_WAIT_MS: waitMs }, log);
  open.push(database);
  return database;
}

if (cluster !== undefined) {
  describe("a real PostgreSQL", () => {
    it("is waited for while it starts", async () => {
      await cluster.stop("immediate");
      const opening = connect(cluster.url);
      await new Promise((resolve) => setTimeout(resolve, 600));
      await cluster.start();
      expect(await (await opening).ping()).toBe(true);
    });

    it("refuses the start at once when the address names no database, without telling the password", async () => {
      const url = cluster.url.replace("postgres@", "postgres:hunter2@");
      const refused = connect(url.replace(/postgres$/, "nowhere"));
      await expect(refused).rejects.toThrow(/DATABASE_URL cannot be used: 3D000/);
      await expect(refused).rejects.not.toThrow(/hunter2/);
    });

    it("gives storage_unavailable within the wait when it hangs, and serves again once it does not", async () => {
      const fault = await startTcpFault({ port: Number(new URL(cluster.url).port) });
      const database = await connect(cluster.url.replace(/:\d+\//, `:${fault.port}/`), 300);
      expect(await database.ping()).toBe(true);
      fault.set("down", { stall: true });
      const startedAt = performance.now();
      const asked = Array.from({ length: 20 }, () =>
        database.ask((db) => db.execute(sql`select 1`)),
      );
      for (const answer of asked) {
        await expect(answer).rejects.toMatchObject({ code: "storage_unavailable" });
      }
      expect(await database.ping()).toBe(false);
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      fault.clear();
      await expect.poll(() => database.ping(), { timeout: 30_000 }).toBe(true);
      await database.close();
      await fault.stop();
      open.pop();
    });

    it("is left by runs too when its host vanishes without a word", async () => {
      const fault = await startTcpFault({ port: Number(new URL(cluster.url).port) });
      const driver = { max: 2, connect_timeout: 5 };
      const database = connectTo({
        ...{ kind: "postgres", url: cluster.url.replace(/:\d+\//, `:${fault.port}/`) },
        ...{ driver, work: driver, waitMs: 300, hungMs: 300 },
      });
      const one = sql`select 1`;
      expect(await database.work.execute(one)).toHaveLength(1);
      fault.set("down", { stall: true });
      // Nobody ends this one: the connection neither closes nor answers.
      const ofRun = database.work.execute(one).then(
        () => "answered",
        () => "given up",
      );
      await expect(database.askOwn((db) => db.execute(one))).rejects.toMatchObject({
        code: "storage_unavailable",
      });
      expect(await ofRun).toBe("given up");
      fault.clear();
      const answers = () =>
        database.work.execute(one).then(
          (rows) => rows.length,
          () => 0,
        );
      await expect.poll(answers, { timeout: 30_000 }).toBe(1);
      await database.close();
      await fault.stop();
    });

    it("serves again within seconds of a crash and a restart", async () => {
      const database = await connect(cluster.url, 300);
      await cluster.stop("immediate");
      expect(await database.ping()).toBe(false);
      await expect(database.ask((db) => db.execute(sql`select 1`))).rejects.toMatchObject({
        code: "storage_unavailable",
      });
      await cluster.start();
      await expect.poll(() => database.ping(), { timeout: 30_000 }).toBe(true);
    });

    it("is asked on every connection again after a crash under load", async () => {
      const database = await connect(cluster.url, 300);
      const select = () => database.ask((db) => db.execute(sql`select 1`));
      const deadline = performance.now() + 2_000;
      const load = Array.from({ length: 20 }, async () => {
        while (performance.now() < deadline) await select().catch(() => undefined);
      });
      await cluster.stop("immediate");
      await cluster.start();
      await Promise.all(load);
      const answers = await Promise.allSettled(Array.from({ length: 60 }, select));
      expect(answers.filter(({ status }) => status === "rejected")).toEqual([]);
    });

    it("is not kept busy with what a caller no longer waits for, while the gateway's own work goes on", async () => {
      const database = await connect(cluster.url, 300);
      const own = database.db.execute(sql`select pg_sleep(1)`);
      const asked = Array.from({ length: 5 }, () =>
        database.ask((db) => db.execute(sql`select pg_sleep(30)`)),
      );
      expect(database.figures()).toEqual({ inUse: 3, max: 3, waiting: 2, refused: 0 });
      expect(await database.askOwn((db) => db.execute(sql`select 1`))).toHaveLength(1);
      for (const answer of asked) {
        await expect(answer).rejects.toMatchObject({ code: "storage_unavailable" });
      }
      await expect.poll(() => database.figures().inUse, { timeout: 30_000 }).toBe(0);
      expect(database.figures().refused).toBeGreaterThanOrEqual(2);
      await own;
    });

    it("is spoken to in UTC, with a limit on each statement, under the gateway's name", async () => {
      const { db } = await connect(cluster.url);
      const [row] = await db.execute(sql`
        select current_setting('TimeZone') as zone, current_setting('statement_timeout') as limit,
          current_setting('application_name') as name`);
      expect(row).toEqual({ zone: "UTC", limit: "30s", name: "inference-gateway" });
    });
  });
}
