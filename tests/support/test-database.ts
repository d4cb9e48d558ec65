import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import type { Database } from "../../src/db/database.ts";
import { embeddedArchive } from "../../src/db/embedded-archive.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openEmbedded } from "../../src/db/open-embedded.ts";
import { openPostgres } from "../../src/db/open-postgres.ts";
import { randomBase62 } from "../../src/lib/id.ts";
import { createLog } from "../../src/lib/log.ts";

/** Address of a real PostgreSQL with a superuser; unset, tests run on the embedded database. */
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const TEST_DATABASE_URL = process.env["TEST_DATABASE_URL"];

const PREPARE = fileURLToPath(
  new URL("../../scripts/prepare-embedded-database.mjs", import.meta.url),
);
const WAIT_MS = 10_000;
const STATEMENT_MS = 60_000;
const log = createLog("error");

/** A fresh, migrated database of its own, gone when closed. */
export async function openTestDatabase(): Promise<Database> {
  const database = await openEmptyDatabase();
  await migrate(database);
  return database;
}

/** The same before any migration. */
export async function openEmptyDatabase(): Promise<Database> {
  if (TEST_DATABASE_URL === undefined) return openInMemory();
  const { url, drop } = await createDatabase(TEST_DATABASE_URL);
  const database = await openPostgres(url, { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: WAIT_MS }, log);
  return { ...database, close: () => database.close().finally(drop) };
}

/** Creates a database of its own on the server at `serverUrl`. */
export async function createDatabase(
  serverUrl: string,
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const name = `test_${randomBase62(12).toLowerCase()}`;
  await execute(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = name;
  return { url: url.href, drop: () => execute(serverUrl, `drop database ${name} with (force)`) };
}

async function openInMemory(): Promise<Database> {
  // Makes the archive when the installation has not.
  if (!existsSync(embeddedArchive())) await promisify(execFile)(process.execPath, [PREPARE]);
  return openEmbedded({
    dataFolder: undefined,
    archive: embeddedArchive(),
    waitMs: WAIT_MS,
    statementMs: STATEMENT_MS,
    log,
  });
}

async function execute(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
