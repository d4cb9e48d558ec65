import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { openEmbedded } from "../../src/db/embedded/open-embedded.ts";
import { embeddedArchive, openDatabase } from "../../src/db/open-db.ts";
import { createLog } from "../../src/lib/log.ts";
import { thisProcess } from "../../src/lib/process-lock/process-identity.ts";
import { ownerText } from "../../src/lib/process-lock/process-lock.ts";
import { type Program, spawnProgram } from "../support/processes/spawn-program.ts";
import { placeMigratedDatabase } from "../support/servers/databases/prepared-database.ts";

const log = createLog("silent");
const programs: Program[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "store-"));
});

afterEach(async () => {
  for (const { child } of programs) child.kill("SIGKILL");
  await Promise.all(programs.splice(0).map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

const open = (dataFolder: string): Promise<Database> =>
  openDatabase(
    { DATABASE_URL: undefined, DATA_DIR: dataFolder, DB_POOL_MAX: 4, DB_POOL_WAIT_MS: 2_000 },
    log,
  );

/** With this release's schema: to make it is no part of what is shown here. */
async function start(): Promise<Program> {
  if (!existsSync(join(folder, "database"))) await placeMigratedDatabase(folder);
  const program = await spawnProgram("start-store", [], { DATA_DIR: folder });
  programs.push(program);
  return program;
}

describe("the embedded database", () => {
  it("says that its folder cannot be made", async () => {
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    await expect(open(join(file, "data"))).rejects.toThrow(/^DATA_DIR: /);
  });

  it("says that its folder cannot be made where the system knows no folder to make", async () => {
    await expect(open("/proc/inference-gateway/data")).rejects.toThrow(/^DATA_DIR: /);
  });

  it("keeps what was written when it is opened again, in UTC, for its user alone, and tidies up behind itself", async () => {
    // A kill has left it half made.
    mkdirSync(join(folder, "database.unfinished/base"), { recursive: true });
    const first = await open(folder);
    const path = join(folder, "database-socket");
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "socket")).mode & 0o777).toBe(0o600);
    await first.db.execute(sql`create table kept (moment timestamptz)`);
    await first.db.execute(sql`insert into kept values ('2026-03-29T01:30:00Z')`);
    await first.close();
    expect(readdirSync(folder)).toEqual(["database"]);
    // A killed process had put it aside for a large result.
    const aside = join(folder, "database", "base", "pgsql_tmp");
    mkdirSync(aside, { recursive: true });
    writeFileSync(join(aside, "pgsql_tmp42.7"), "rows");
    const second = await open(folder);
    const [row] = await second.db.execute(sql`select moment::text as moment from kept`);
    expect(row).toEqual({ moment: "2026-03-29 01:30:00+00" });
    expect(existsSync(join(aside, "pgsql_tmp42.7"))).toBe(false);
    await second.close();
  });

  describe("in a folder whose path is too long for a socket", () => {
    let root: string;
    let database: Database;
    beforeAll(async () => {
      root = mkdtempSync(join(tmpdir(), "store-"));
      database = await open(join(root, "a".repeat(120)));
    });
    afterAll(async () => {
      await database.close();
      rmSync(root, { recursive: true });
    });

    it("opens", async () => {
      expect(await database.ping()).toBe(true);
    });

    it("does not delay the rest of the process by a long query", async () => {
      let longestGapMs = 0;
      let last = performance.now();
      const beat = setInterval(() => {
        const now = performance.now();
        longestGapMs = Math.max(longestGapMs, now - last);
        last = now;
      }, 10);
      const startedAt = performance.now();
      await database.db.execute(sql`select count(*) from generate_series(1, 4000000)`);
      const tookMs = performance.now() - startedAt;
      clearInterval(beat);
      expect(longestGapMs).toBeLessThan(tookMs / 3);
    });

    it("rolls a transaction back as a whole", async () => {
      await database.db.execute(sql`create table counted (id int)`);
      const failing = withTransaction(database.db, async (transaction) => {
        await transaction.execute(sql`insert into counted values (1)`);
        throw new Error("changed our mind");
      });
      await expect(failing).rejects.toThrow("changed our mind");
      expect(await database.db.execute(sql`select * from counted`)).toHaveLength(0);
    });
  });

  it("is replaced when a statement hangs it, with all that was committed", async () => {
    const database = await openEmbedded({
      dataFolder: folder,
      archive: embeddedArchive(),
      waitMs: 500,
      limitMs: () => 1_000,
      log,
    });
    await database.db.execute(sql`create table kept (id int)`);
    await database.db.execute(sql`insert into kept values (1)`);
    const hanging = database.db.execute(sql`select count(*) from generate_series(1, 1e15::bigint)`);
    await expect(hanging).rejects.toThrow();
    await expect.poll(() => database.ping(), { timeout: 20_000 }).toBe(true);
    expect(await database.db.execute(sql`select * from kept`)).toHaveLength(1);
    await database.close();
  });

  it("is not replaced during work for which its limit is longer, such as migrations", async () => {
    let limitMs = 100;
    const database = await openEmbedded({
      ...{ dataFolder: folder, archive: embeddedArchive(), waitMs: 500, log },
      limitMs: () => limitMs,
    });
    limitMs = 60_000;
    await withTransaction(database.db, async (transaction) => {
      await transaction.execute(sql`create table migrated (id int)`);
      for (let step = 0; step < 5; step += 1) await transaction.execute(sql`select pg_sleep(0.2)`);
    });
    expect(await database.db.execute(sql`select * from migrated`)).toEqual([]);
    limitMs = 100;
    await expect(database.db.execute(sql`select pg_sleep(600)`)).rejects.toThrow();
    await database.close();
  });

  it("loses no committed row to a kill, and the next start takes over at once, until another process takes the folder", async () => {
    const killed = await start();
    await killed.says("ready");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const next = await start();
    await next.says("ready");
    // The key of the first start is there: none is issued again.
    expect(killed.output()).toContain("issued sk-");
    expect(next.output()).toContain("issued nothing");

    const second = await start();
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/already uses this folder.*DATA_DIR/);

    const lock = join(folder, "process.lock");
    rmSync(lock);
    symlinkSync(ownerText({ ...thisProcess(), token: "other" }), lock);
    expect(await next.ended).not.toBe(0);
    expect(next.output()).toMatch(/Another process has taken .*DATA_DIR/);
  });
});
