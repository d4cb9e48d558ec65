import { migrate } from "../../../../src/db/migrate.ts";
import { openPostgres } from "../../../../src/db/open-postgres.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { type PostgresCluster, startPostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, type OwnDatabase } from "./test-database.ts";

// biome-ignore lint/style/noProcessEnv: the tests' own switches, not settings of the program
const environment = process.env;
let cluster: PostgresCluster | undefined;
let template: OwnDatabase | undefined;

/**
 * Starts one PostgreSQL for the whole run, where it is installed and none is given: a server for each file, or the
 * embedded database where it makes no difference, would cost half of the suite's time. The schema is made once, as a
 * template for the databases of the files.
 */
export async function setup(): Promise<void> {
  // Another project of the run has done it, and clears up.
  if (environment["TEST_DATABASE_TEMPLATE"] !== undefined) return;
  if (environment["TEST_DATABASE_URL"] === undefined) {
    cluster = await startPostgresCluster();
    if (cluster === undefined) return;
    environment["TEST_DATABASE_URL"] = cluster.url;
  }
  template = await createDatabase(environment["TEST_DATABASE_URL"]);
  const options = { DB_POOL_MAX: 1, DB_POOL_WAIT_MS: 10_000 };
  const database = await openPostgres(template.url, options, createLog("error"));
  await migrate(database);
  const [server] = await database.db.execute<{ major: number }>(
    "select current_setting('server_version_num')::int / 10000 as major",
  );
  await database.close();
  // Copied files include the cache of the catalogue, which every first connection would build again otherwise. Servers
  // before 15 know no other way to copy, and no name for it.
  const strategy = (server?.major ?? 0) >= 15 ? " strategy file_copy" : "";
  environment["TEST_DATABASE_TEMPLATE"] = `${new URL(template.url).pathname.slice(1)}${strategy}`;
}

export async function teardown(): Promise<void> {
  await template?.drop();
  await cluster?.remove();
}
