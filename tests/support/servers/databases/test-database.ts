import postgres from "postgres";
import type { Database } from "../../../../src/db/database.ts";
import { openEmbedded } from "../../../../src/db/embedded/open-embedded.ts";
import { migrate } from "../../../../src/db/migrate.ts";
import { openPostgres } from "../../../../src/db/open-postgres.ts";
import { randomBase62 } from "../../../../src/lib/id.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { databaseServerUrl } from "./database-server.ts";
import { emptyArchive, migratedArchive } from "./prepared-database.ts";

// biome-ignore lint/style/noProcessEnv: the tests' own switches, not settings of the program
const { TEST_DATABASE, TEST_DATABASE_TEMPLATE } = process.env;

/** Undefined where tests take the embedded database: there is no other one, or `TEST_DATABASE=embedded` asks for it. */
const serverUrl = TEST_DATABASE === "embedded" ? undefined : databaseServerUrl;

const WAIT_MS = 10_000;
const STATEMENT_MS = 60_000;
const log = createLog("error");

/** What `openTestDatabase` opens. */
export const openedKind: Database["kind"] = serverUrl === undefined ? "embedded" : "postgres";

/** A fresh, migrated database of its own, gone when closed. */
export async function openTestDatabase(): Promise<Database> {
  if (serverUrl === undefined) return openEmbeddedInMemory();
  const database = await openOwn(await createMigratedDatabase(serverUrl));
  await migrate(database);
  return database;
}

/** The same on the embedded database, whichever the run is about. */
export async function openEmbeddedInMemory(): Promise<Database> {
  return openInMemory(await migratedArchive());
}

/** The same before any migration. */
export async function openEmptyDatabase(): Promise<Database> {
  if (serverUrl === undefined) return openInMemory(await emptyArchive());
  return openOwn(await createDatabase(serverUrl));
}

/** A database of one test file or stage on a server. */
export interface OwnDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

async function openOwn({ url, drop }: OwnDatabase): Promise<Database> {
  const database = await openPostgres(url, { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: WAIT_MS }, log);
  return { ...database, close: () => database.close().finally(drop) };
}

/** The same as `createDatabase`, with this release's schema where the run has made a template of it. */
export function createMigratedDatabase(serverUrl: string): Promise<OwnDatabase> {
  const isShared = serverUrl === databaseServerUrl;
  return createDatabase(serverUrl, isShared ? TEST_DATABASE_TEMPLATE : undefined);
}

/** A migrated database of its own on the server that the run is about; undefined where that is the embedded one. */
export async function createOwnDatabase(): Promise<OwnDatabase | undefined> {
  return serverUrl === undefined ? undefined : createMigratedDatabase(serverUrl);
}

/** Creates a database of its own on the server at `serverUrl`, empty or as `template` is. */
export async function createDatabase(serverUrl: string, template?: string): Promise<OwnDatabase> {
  const name = `test_${randomBase62(12).toLowerCase()}`;
  const like = template === undefined ? "" : ` template ${template}`;
  await execute(serverUrl, `create database ${name}${like}`);
  const url = new URL(serverUrl);
  url.pathname = name;
  return { url: url.href, drop: () => execute(serverUrl, `drop database ${name} with (force)`) };
}

function openInMemory(archive: string): Promise<Database> {
  return openEmbedded({
    dataFolder: undefined,
    archive,
    waitMs: WAIT_MS,
    limitMs: () => STATEMENT_MS,
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
