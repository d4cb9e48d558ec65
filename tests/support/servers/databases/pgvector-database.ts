import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { sql } from "drizzle-orm";
import { connect } from "../../../../src/db/connect.ts";
import type { Database } from "../../../../src/db/database.ts";
import { migrate } from "../../../../src/db/migrate.ts";
import { openPostgres } from "../../../../src/db/open-postgres.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { databaseServerUrl } from "./database-server.ts";
import { emptyArchive } from "./prepared-database.ts";
import { createMigratedDatabase } from "./test-database.ts";

const WAIT_MS = 60_000;

/** A database of its own on the server that the run is about; undefined where that has no pgvector. */
export async function openPgvectorServer(): Promise<PgvectorServer | undefined> {
  if (databaseServerUrl === undefined) return undefined;
  const { url, drop } = await createMigratedDatabase(databaseServerUrl);
  const settings = { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: WAIT_MS };
  const database = await openPostgres(url, settings, createLog("error"));
  const close = () => database.close().finally(drop);
  const [row] = await database.db.execute(
    sql`select 1 from pg_available_extensions where name = 'vector'`,
  );
  if (row !== undefined) return { database: { ...database, close }, url };
  await close();
  return undefined;
}

export interface PgvectorServer {
  readonly database: Database;
  readonly url: string;
}

/** An embedded database that has pgvector, which ours has not: where PostgreSQL lacks it, indexes can be tried all the same. */
export async function openPgvectorDatabase(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "pgvector-"));
  const loadDataDir = new Blob([await readFile(await emptyArchive())]);
  const server = await PGlite.create({ loadDataDir, extensions: { vector } });
  const path = join(folder, "socket");
  const socket = new PGLiteSocketServer({ db: server, path, maxConnections: 4 });
  await socket.start();
  const driver = { path, max: 1, user: "postgres", database: "postgres" };
  const database = connect({ kind: "embedded", waitMs: WAIT_MS, driver });
  await migrate(database);
  return {
    ...database,
    async close() {
      await database.close();
      await socket.stop();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
