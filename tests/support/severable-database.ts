import { startPostgresCluster } from "./postgres-cluster.ts";
import { startTcpFault, type TcpFault } from "./tcp-fault.ts";
import { createDatabase } from "./test-database.ts";

/** A database of its own on a real PostgreSQL, reached through a connection that can be cut. */
export interface SeverableDatabase {
  /** Through the connection that can be cut. */
  readonly url: string;
  /** Straight to the database. */
  readonly directUrl: string;
  readonly connection: TcpFault;
  readonly remove: () => Promise<void>;
}

/** Undefined, with a line that says so, where there is no PostgreSQL. */
export async function openSeverableDatabase(): Promise<SeverableDatabase | undefined> {
  // biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
  const given = process.env["TEST_DATABASE_URL"];
  const cluster = given === undefined ? await startPostgresCluster() : undefined;
  const server = given ?? cluster?.url;
  if (server === undefined) return undefined;
  const { url: directUrl, drop } = await createDatabase(server);
  const connection = await startTcpFault({ port: Number(new URL(directUrl).port || 5432) });
  const url = new URL(directUrl);
  url.port = String(connection.port);
  return {
    url: url.href,
    directUrl,
    connection,
    async remove() {
      await connection.stop();
      await drop();
      await cluster?.remove();
    },
  };
}
