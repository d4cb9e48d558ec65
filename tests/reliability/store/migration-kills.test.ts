import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { migrationStatements, writeMigrations } from "../../support/changed-migrations.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { type Program, spawnProgram } from "../../support/processes/spawn-program.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createDatabase } from "../../support/servers/databases/test-database.ts";

const KILLS = { postgres: trialSize(2, 5), embedded: trialSize(1, 5) };
/** Of a migration; undefined: at each statement. What a statement before the last one would leave, the last cut finds. */
const CUTS = trialSize<number | undefined>(3, undefined);
/** Between two statements of a migration that is to be killed. */
const STEP_SECONDS = 0.02;
const NO_POSTGRES = "left out: no PostgreSQL here";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 });
const known = migrationStatements();
const count = known.flat().length;
const { shows, leavesOut } = createCaseTable({
  D05:
    `cut at ${CUTS === undefined ? `each of ${count} statements` : `${CUTS} statements of each migration`}, ` +
    `${KILLS.postgres} kills of a process, 3 replicas at once`,
});

const log = createLog("silent");
const open: Database[] = [];
const programs: Program[] = [];
const drops: (() => Promise<void>)[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "migration-kills-"));
});
afterEach(async () => {
  for (const { child } of programs) child.kill("SIGKILL");
  await Promise.all(programs.splice(0).map(({ ended }) => ended));
  await Promise.all(open.splice(0).map((database) => database.close()));
  await Promise.all(drops.splice(0).map((drop) => drop()));
  await rm(folder, { recursive: true });
});

/** Of an empty database, which is gone after the case. */
async function emptyUrl(server: string): Promise<string> {
  const { url, drop } = await createDatabase(server);
  drops.push(drop);
  return url;
}

async function connect(url: string): Promise<Database> {
  const database = await openPostgres(url, { DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 5_000 }, log);
  open.push(database);
  return database;
}

async function spawnStore(
  name: string,
  store: Record<string, string>,
  args: string[] = [],
): Promise<Program> {
  const secret = { APP_SECRET: "the secret of the replicas" };
  const program = await spawnProgram(name, args, { DATA_DIR: folder, ...secret, ...store });
  programs.push(program);
  return program;
}

async function tables({ db }: Database): Promise<string[]> {
  const rows = await db.execute<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** The migrations, the connection lost before statement `at` of migration `of`. */
function cutMigrations(of: number, at: number) {
  const cut = "select pg_terminate_backend(pg_backend_pid())";
  return writeMigrations(
    known.map((statements, index) =>
      index === of ? statements.toSpliced(at, 0, cut) : statements,
    ),
  );
}

/** The statements of a migration before which it is cut, the end among them. */
function cutsOf(of: number): readonly number[] {
  const last = known[of]?.length ?? 0;
  const all = Array.from({ length: last + 1 }, (_, at) => at);
  return CUTS === undefined ? all : [...new Set([0, last >> 1, last])];
}

/** Cuts migration `of` at its statements; after each cut the schema has to be as before. */
async function cutEverywhere(url: string, of: number, cuts = cutsOf(of)): Promise<void> {
  const looker = await connect(url);
  const before = await tables(looker);
  for (const at of cuts) {
    const { folder: migrations, remove } = cutMigrations(of, at);
    const database = await openPostgres(url, { DB_POOL_MAX: 1, DB_POOL_WAIT_MS: 5_000 }, log);
    await expect(migrate(database, migrations)).rejects.toThrow(/is unchanged/);
    await database.close();
    remove();
    expect(await tables(looker)).toEqual(before);
  }
}

/** Kills a process in the middle of its migrations, at random; then the program's own start has to get ready. */
async function killAndStart(
  store: Record<string, string>,
  name: keyof typeof KILLS,
): Promise<void> {
  const pause = `select pg_sleep(${STEP_SECONDS})`;
  const slow = writeMigrations(known.map((list) => list.flatMap((one) => [pause, one])));
  const random = faultRandom(`migrations, ${name}`);
  for (let kill = 0; kill < KILLS[name]; kill += 1) {
    const killed = await spawnStore("migrate-store", store, [slow.folder]);
    await killed.says("begun");
    await sleep(random() * count * STEP_SECONDS * 1_000);
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(killed.output()).not.toContain("done");
  }
  slow.remove();
  const next = await spawnStore("start-store", store);
  await next.says("ready");
  expect(next.output()).toContain("issued sk-");
  next.child.kill("SIGTERM");
  expect(await next.ended).toBe(0);
}

function onPostgres(server: string): void {
  shows(
    "D05",
    "an empty PostgreSQL",
    "a cut at any statement leaves nothing, the next start completes",
    async () => {
      const url = await emptyUrl(server);
      await cutEverywhere(url, 0);
      // All migrations are one transaction, so the very last cut stands for those between.
      const last = known.length - 1;
      await cutEverywhere(url, last, cutsOf(last).slice(-1));
      const database = await connect(url);
      await migrate(database);
      expect(await tables(database)).toContain("usage_records");
    },
  );

  shows(
    "D05",
    "an upgrade of PostgreSQL",
    "a cut at any statement leaves schema and rows as they were",
    async () => {
      const url = await emptyUrl(server);
      const database = await connect(url);
      for (let of = 1; of < known.length; of += 1) {
        const { folder: earlier, remove } = writeMigrations(known.slice(0, of));
        await migrate(database, earlier);
        remove();
        await database.db.execute(sql`
        insert into usage_records (id, started_at, key_id, channel, model, outcome, success, status, input_tokens,
          output_tokens, cached_tokens, reasoning_tokens, estimated, latency_ms)
        select ${`req_${of}_`} || number, '2026-11-20T23:59:50Z'::timestamptz + number * interval '1 second', 'key_1',
          'chat', 'a model', 'ok', true, 200, 7, 11, 0, 0, false, 1234
        from generate_series(1, 20) as number`);
        await cutEverywhere(url, of);
        expect(await countRows(database)).toBe(of * 20);
      }
      await migrate(database);
      expect(await countRows(database)).toBe((known.length - 1) * 20);
    },
  );

  shows("D05", "a process killed, PostgreSQL", "the next start completes", async () => {
    const url = await emptyUrl(server);
    await killAndStart({ DATABASE_URL: url }, "postgres");
  });

  shows("D05", "three replicas", "exactly one migrates, all become ready", async () => {
    const url = await emptyUrl(server);
    const start = () => spawnStore("start-store", { DATABASE_URL: url });
    const replicas = await Promise.all([start(), start(), start()]);
    await Promise.all(replicas.map((replica) => replica.says("ready")));
    const issued = replicas.filter((replica) => replica.output().includes("issued sk-"));
    expect(issued).toHaveLength(1);
    const { db } = await connect(url);
    const applied = await db.execute(sql`select * from drizzle.__drizzle_migrations`);
    expect(applied).toHaveLength(known.length);
    for (const { child } of replicas) child.kill("SIGTERM");
    expect(await Promise.all(replicas.map(({ ended }) => ended))).toEqual([0, 0, 0]);
  });

  shows(
    "D05",
    "a newer schema",
    "the start is refused with a text that says what to do",
    async () => {
      const url = await emptyUrl(server);
      const { db } = await connect(url);
      await migrate({ db });
      await db.execute(sql`
      insert into drizzle.__drizzle_migrations (hash, created_at) values ('of a later release', 9000000000000)`);
      const refused = await spawnStore("start-store", { DATABASE_URL: url });
      expect(await refused.ended).toBe(1);
      expect(refused.output()).toMatch(/newer release.*Start the newer release again, or restore/s);
      expect(refused.output()).not.toMatch(/\n\s+at /);
    },
  );
}

async function countRows({ db }: Database): Promise<number> {
  const [row] = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from usage_records`,
  );
  return row?.count ?? -1;
}

describe("the schema", () => {
  if (databaseServerUrl === undefined) leavesOut("D05", "PostgreSQL", NO_POSTGRES);
  else onPostgres(databaseServerUrl);

  shows("D05", "a process killed, embedded database", "the next start completes", async () => {
    await killAndStart({}, "embedded");
    expect(readdirSync(folder)).toContain("database");
  });
});
