import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openInstallation } from "../../../src/access/open-installation.ts";
import { openSecret } from "../../../src/access/secret.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Settings } from "../../../src/config/settings.ts";
import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openDatabase } from "../../../src/db/open-db.ts";
import { createLog, type Log } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { createBackup } from "../../../src/operations/backup/create-backup.ts";
import { makeBackup } from "../../../src/operations/backup/make-backup.ts";
import {
  type RestoreOptions,
  restoreBackup,
} from "../../../src/operations/backup/restore/restore-backup.ts";
import { writeBackupFile } from "../../../src/operations/backup/write-backup-file.ts";
import { encodeRecord } from "../../../src/usage/journal/record-format.ts";
import { databaseServerUrl } from "../servers/databases/database-server.ts";
import { placeMigratedDatabase } from "../servers/databases/prepared-database.ts";
import { createDatabase } from "../servers/databases/test-database.ts";

export type StoreKind = Database["kind"];

/** The kinds of database that can be had here. */
export const storeKinds: readonly StoreKind[] =
  databaseServerUrl === undefined ? ["embedded"] : ["embedded", "postgres"];

/** For what does not depend on the kind: to open the embedded database takes seconds of processor time. */
export const quickKind: StoreKind = databaseServerUrl === undefined ? "embedded" : "postgres";

/** From each kind and to each kind, from one to the other one: a restore never looks at where its backup was made. */
export const crossings: readonly (readonly [StoreKind, StoreKind])[] =
  databaseServerUrl === undefined
    ? [["embedded", "embedded"]]
    : [
        ["embedded", "postgres"],
        ["postgres", "embedded"],
      ];

/** The settings of one installation, as the environment gives them. */
export type Environment = Readonly<Record<string, string>>;

export interface BackupStage {
  /** An installation that has nothing yet: an empty folder and an empty database. */
  readonly newPlace: (kind: StoreKind, more?: Environment) => Promise<Environment>;
  /** A path for a file that is not there yet. */
  readonly newFile: () => string;
  readonly remove: () => Promise<void>;
}

const log = createLog("error");

export function createBackupStage(): BackupStage {
  const root = mkdtempSync(join(tmpdir(), "backup-"));
  const drops: (() => Promise<void>)[] = [];
  let count = 0;
  const next = () => join(root, String(++count));
  return {
    async newPlace(kind, more = {}) {
      const place = { DATA_DIR: next(), ...more };
      if (kind === "embedded") return place;
      const { url, drop } = await createDatabase(databaseServerUrl ?? "");
      drops.push(drop);
      return { ...place, DATABASE_URL: url };
    },
    newFile: () => `${next()}.tar.gz`,
    async remove() {
      for (const drop of drops) await drop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function settingsOf(environment: Environment): Settings {
  return loadConfig(environment).settings;
}

export async function withDatabase<Result>(
  environment: Environment,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(settingsOf(environment), log);
  try {
    return await work(database.db);
  } finally {
    await database.close();
  }
}

/** What a first start makes, without a server, and `usageRows` rows of usage. */
export function makeInstallation(environment: Environment, usageRows = 0): Promise<void> {
  return makeInstallationWith(environment, usageRows, () => Promise.resolve());
}

/** The same, with more work on its database while that is open. */
export async function makeInstallationWith<Result>(
  environment: Environment,
  usageRows: number,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openNewInstallation(environment, usageRows);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The same, whose database stays open. */
export async function openNewInstallation(
  environment: Environment,
  usageRows: number,
  databaseLog: Log = log,
): Promise<Database> {
  const settings = settingsOf(environment);
  if (settings.DATABASE_URL === undefined) {
    mkdirSync(settings.DATA_DIR, { recursive: true, mode: 0o700 });
    await placeMigratedDatabase(settings.DATA_DIR);
  }
  const database = await openDatabase(settings, databaseLog);
  try {
    await migrate(database);
    await openInstallation(database, await openSecret(settings), systemClock);
    if (usageRows > 0) await addUsage(database.db, usageRows);
    if (usageRows > 0) await addToolServer(database.db);
    return database;
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

/** From the first of November 2026 on, a call a minute; the second has a partition of its own. */
async function addUsage(db: Db, rows: number): Promise<void> {
  await db.execute(sql`
    create table usage_records_20261102 partition of usage_records
      for values from ('2026-11-02 00:00:00+00') to ('2026-11-03 00:00:00+00')`);
  await db.execute(
    sql.raw(`
    insert into usage_records
    select 'req_' || lpad(i::text, 20, '0'), timestamptz '2026-11-01 00:00:00+00' + i * interval '1 minute',
      'key_of_the_tests', 'chat', 'sim-chat', 'ok', true, 200, i % 1000, i % 300, 0, 0, false, i % 5000, i % 200, null
    from generate_series(1, ${rows}) i`),
  );
}

/** With headers under APP_SECRET, an approved tool, and one that waits. */
async function addToolServer(db: Db): Promise<void> {
  await db.execute(sql`
    insert into mcp_servers (id, name, url, sealed_headers, header_names, change_seq)
    values ('mcps_1', 'tickets', 'https://tools.example.com/mcp', 'v1.sealed', '{x-key}', 1)`);
  await db.execute(sql`
    insert into mcp_server_tools (server_id, name, approved, listed, level) values
      ('mcps_1', 'find', '{"name": "find"}', '{"name": "find"}', 'read_only'),
      ('mcps_1', 'new', null, '{"name": "new", "description": "ein \\"Ünïcode\\" 🚀"}', null)`);
}

/** Makes a backup in this process and returns its path. */
export async function backUp(environment: Environment, file: string): Promise<string> {
  const written = await createBackup({
    settings: settingsOf(environment),
    file,
    productVersion: "1.2.3",
    now: Date.now(),
    log,
    onWritten: () => undefined,
  });
  return written.file;
}

/** The same of a database that is open here, as a server makes it. */
export async function backUpOpen(
  environment: Environment,
  database: Database,
  file: string,
): Promise<string> {
  const settings = settingsOf(environment);
  const { bytes, close } = makeBackup({
    ...{ settings, database, productVersion: "1.2.3", now: Date.now() },
  });
  await writeBackupFile({ file, bytes }).finally(close);
  return file;
}

/** Restores a backup in this process. */
export async function restore(
  environment: Environment,
  file: string,
  more: Pick<RestoreOptions, "limit" | "onRead"> = {},
): Promise<void> {
  await restoreBackup({ file, settings: settingsOf(environment), log, ...more });
}

type Tables = Readonly<Record<string, readonly string[]>>;

/** All rows of all tables, as text in the order of that text. */
export function readTables(environment: Environment): Promise<Tables> {
  return withDatabase(environment, readTablesOf);
}

/** The same of a database that is open. */
export async function readTablesOf(db: Db): Promise<Tables> {
  const tables = await db.execute<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
  const all: Record<string, readonly string[]> = {};
  for (const { name } of tables) {
    const rows = await db.execute<{ row: string }>(
      sql.raw(`select t::text as row from "${name}" t order by 1`),
    );
    all[name] = rows.map(({ row }) => row);
  }
  return all;
}

/** A journal without an owner, with one finished call, and two files that were kept aside. Returns the call's id. */
export function leaveJournal(environment: Environment, journal = "gateway-gone.journal"): string {
  const root = environment["JOURNAL_DIR"] ?? join(environment["DATA_DIR"] ?? "", "journal");
  mkdirSync(join(root, journal), { recursive: true });
  const id = `req_of_${journal}`;
  const record = {
    ...{ id, keyId: "key_of_the_tests", startedAt: Date.now(), channel: "chat" },
    ...{ model: "sim-chat", outcome: "ok", status: 200, inputTokens: 7, outputTokens: 4 },
    ...{ cachedTokens: 0, reasoningTokens: 0, estimated: false, latencyMs: 5, firstTokenMs: 2 },
  };
  const bytes = Buffer.alloc(128 * 1024);
  const size = encodeRecord("end", JSON.stringify(record), bytes);
  // The beginning of a record that is just being written.
  writeFileSync(join(root, journal, "00000001.segment"), bytes.subarray(0, size + 20));
  writeFileSync(join(root, `${journal}.aside`), '{"id":"refused"}\n');
  writeFileSync(join(root, `${journal}.2.170.damaged`), Buffer.from([1, 2, 3, 0, 255]));
  return id;
}
