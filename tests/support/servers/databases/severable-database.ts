import { startTcpFault, type TcpFault } from "../../faults/tcp-fault.ts";
import { databaseServerUrl } from "./database-server.ts";
import { createMigratedDatabase } from "./test-database.ts";

/** A database of its own on a real PostgreSQL, with this release's schema, reached through a connection that can be cut. */
export interface SeverableDatabase {
  /** Through the connection that can be cut. */
  readonly url: string;
  /** Straight to the database. */
  readonly directUrl: string;
  readonly connection: TcpFault;
  readonly remove: () => Promise<void>;
}

/** Undefined where there is no PostgreSQL. */
export async function openSeverableDatabase(): Promise<SeverableDatabase | undefined> {
  if (databaseServerUrl === undefined) return undefined;
  const { url: directUrl, drop } = await createMigratedDatabase(databaseServerUrl);
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
    },
  };
}
