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
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { openEmbedded } from "../../src/db/embedded/open-embedded.ts";
import { embeddedArchive, openDatabase } from "../../src/db/open-db.ts";
import { createLog } from "../../src/lib/log.ts";
import { thisProcess } from "../../src/lib/process-lock/process-identity.ts";
import { ownerText } from "../../src/lib/process-lock/process-lock.ts";
import { type Program, spawnProgram } from "../support/processes/spawn-program.ts";

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

async function start(environment: Record<string, string> = {}): Promise<Program> {
  const program = await spawnProgram("start-store", [], { DATA_DIR: folder, ...environment });
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

  it("keeps what was written when it is opened again, in UTC, and tidies up behind itself", async () => {
    const first = await open(folder);
    await first.db.execute(sql`create table kept (moment timestamptz)`);
    await first.db.execute(sql`insert into kept values ('2026-03-29T01:30:00Z')`);
    await first.close();
    expect(readdirSync(folder)).toEqual(["database"]);
    const second = await open(folder);
    const [row] = await second.db.execute(sql`select moment::text as moment from kept`);
    expect(row).toEqual({ moment: "2026-03-29 01:30:00+00" });
    await second.close();
  });

  it("is reached over a socket that only its user may open", async () => {
    const database = await open(folder);
    const path = join(folder, "database-socket");
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "socket")).mode & 0o777).toBe(0o600);
    await database.close();
  });

  it("opens in a folder whose path is too long for a socket", async () => {
    const deep = join(folder, "a".repeat(120));
    const database = await open(deep);
    expect(await database.ping()).toBe(true);
    await database.close();
  });

  it("does not delay the rest of the process by a long query", async () => {
    const database = await open(folder);
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
    await database.close();
    expect(longestGapMs).toBeLessThan(tookMs / 3);
  });

  it("is replaced when a statement hangs it, with all that was committed", async () => {
    const database = await openEmbedded({
      dataFolder: folder,
      archive: embeddedArchive(),
      waitMs: 500,
      statementMs: 1_000,
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

  it("rolls a transaction back as a whole", async () => {
    const database = await open(folder);
    await database.db.execute(sql`create table counted (id int)`);
    const failing = withTransaction(database.db, async (transaction) => {
      await transaction.execute(sql`insert into counted values (1)`);
      throw new Error("changed our mind");
    });
    await expect(failing).rejects.toThrow("changed our mind");
    expect(await database.db.execute(sql`select * from counted`)).toHaveLength(0);
    await database.close();
  });

  it("begins anew over a database that a kill left half made", async () => {
    mkdirSync(join(folder, "database.unfinished/base"), { recursive: true });
    const database = await open(folder);
    expect(await database.ping()).toBe(true);
    await database.close();
    expect(existsSync(join(folder, "database.unfinished"))).toBe(false);
  });

  it("loses no committed row to a kill, and the next start takes over at once", async () => {
    const killed = await start();
    await killed.says("ready");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const next = await start();
    await next.says("ready");
    // The key of the first start is there: none is issued again.
    expect(killed.output()).toContain("issued sk-");
    expect(next.output()).toContain("issued nothing");
  });

  it("is left at once when another process has taken the folder", async () => {
    const paused = await start();
    await paused.says("ready");
    const lock = join(folder, "process.lock");
    rmSync(lock);
    symlinkSync(ownerText({ ...thisProcess(), token: "other" }), lock);
    expect(await paused.ended).not.toBe(0);
    expect(paused.output()).toMatch(/Another process has taken .*DATA_DIR/);
  });

  it("refuses a second process with a text that says what to do", async () => {
    const first = await start();
    await first.says("ready");
    const second = await start();
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/already uses this folder.*DATA_DIR/);
    first.child.kill("SIGTERM");
    expect(await first.ended).toBe(0);
  });
});
