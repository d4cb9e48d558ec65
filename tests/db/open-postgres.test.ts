import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openPostgres } from "../../src/db/open-postgres.ts";
import { createLog } from "../../src/lib/log.ts";
import { startPostgresCluster } from "../support/postgres-cluster.ts";
import { type Program, spawnProgram } from "../support/spawn-program.ts";
import { startTcpFault } from "../support/tcp-fault.ts";
import { createDatabase } from "../support/test-database.ts";

const log = createLog("silent");
const programs: Program[] = [];
const open: Database[] = [];
const cluster = await startPostgresCluster();

afterEach(async () => {
  for (const { child } of programs) child.kill("SIGKILL");
  await Promise.all(programs.splice(0).map(({ ended }) => ended));
  await Promise.all(open.splice(0).map((database) => database.close()));
});

afterAll(() => cluster?.remove());

async function connect(url: string, waitMs = 2_000): Promise<Database> {
  const database = await openPostgres(url, { DB_POOL_MAX: 3, DB_POOL_WAIT_MS: waitMs }, log);
  open.push(database);
  return database;
}

function start(url: string): Program {
  const program = spawnProgram("start-store", [], {
    DATABASE_URL: url,
    APP_SECRET: "the secret of the replicas",
  });
  programs.push(program);
  return program;
}

const tableCount = async ({ db }: Database): Promise<number> => {
  const [row] = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from pg_tables where schemaname = 'public'`,
  );
  return row?.count ?? -1;
};

/** The program's migrations, where the connection is cut after so many statements of the first. */
function migrationsCutAfter(statements: number): string {
  const folder = mkdtempSync(join(tmpdir(), "migrations-"));
  cpSync(new URL("../../drizzle", import.meta.url), folder, { recursive: true });
  const [name] = readdirSync(folder).filter((file) => file.endsWith(".sql"));
  const path = join(folder, name ?? "");
  const parts = readFileSync(path, "utf8").split("--> statement-breakpoint");
  parts.splice(statements, 0, "select pg_terminate_backend(pg_backend_pid());");
  writeFileSync(path, parts.join("--> statement-breakpoint"));
  return folder;
}

if (cluster !== undefined) {
  describe("a real PostgreSQL", () => {
    it("is migrated by exactly one of three replicas that start at once, and all become ready", async () => {
      const { url, drop } = await createDatabase(cluster.url);
      const replicas = [start(url), start(url), start(url)];
      await Promise.all(replicas.map((replica) => replica.says("ready")));
      const issued = replicas.filter((replica) => replica.output().includes("issued sk-"));
      expect(issued).toHaveLength(1);
      const database = await connect(url);
      expect(
        await database.db.execute(sql`select * from drizzle.__drizzle_migrations`),
      ).toHaveLength(readdirSync(new URL("../../drizzle", import.meta.url)).length - 1);
      for (const { child } of replicas) child.kill("SIGTERM");
      expect(await Promise.all(replicas.map(({ ended }) => ended))).toEqual([0, 0, 0]);
      await drop();
    });

    it("has its migration completed by the next start, whichever statement was the last before a kill", async () => {
      const { url, drop } = await createDatabase(cluster.url);
      const database = await connect(url);
      for (let statements = 0; statements <= 12; statements += 1) {
        const folder = migrationsCutAfter(statements);
        await expect(migrate(await connect(url), folder)).rejects.toThrow(/as it was/);
        expect(await tableCount(database)).toBe(0);
        rmSync(folder, { recursive: true });
      }
      await migrate(database);
      expect(await tableCount(database)).toBeGreaterThan(5);
      await drop();
    });

    it("is migrated by the next start when a replica was killed while it started", async () => {
      const { url, drop } = await createDatabase(cluster.url);
      for (const delayMs of [150, 250, 350, 450]) {
        const killed = start(url);
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        killed.child.kill("SIGKILL");
        await killed.ended;
      }
      await start(url).says("ready");
      await drop();
    });

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
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      fault.clear();
      await expect.poll(() => database.ping(), { timeout: 5_000 }).toBe(true);
      await database.close();
      await fault.stop();
      open.pop();
    });

    it("serves again within seconds of a crash and a restart", async () => {
      const database = await connect(cluster.url, 300);
      await cluster.stop("immediate");
      expect(await database.ping()).toBe(false);
      await expect(database.ask((db) => db.execute(sql`select 1`))).rejects.toMatchObject({
        code: "storage_unavailable",
      });
      await cluster.start();
      await expect.poll(() => database.ping(), { timeout: 5_000 }).toBe(true);
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

    it("is spoken to in UTC, with a limit on each statement, under the gateway's name", async () => {
      const { db } = await connect(cluster.url);
      const [row] = await db.execute(sql`
        select current_setting('TimeZone') as zone, current_setting('statement_timeout') as limit,
          current_setting('application_name') as name`);
      expect(row).toEqual({ zone: "UTC", limit: "30s", name: "inference-gateway" });
    });
  });
}
