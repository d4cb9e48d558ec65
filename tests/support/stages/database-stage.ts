import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptLongStreams } from "../clients/load/steady-load.ts";
import { startTcpFault, type TcpFault } from "../faults/tcp-fault.ts";
import type { PostgresCluster } from "../servers/databases/postgres-cluster.ts";
import { createDatabase } from "../servers/databases/test-database.ts";
import { startGateway, type TestGateway } from "../servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../servers/start-simulator.ts";

export const ADMIN_PASSWORD = "password of the stage 5e1a";

export interface DatabaseStageOptions {
  readonly server: PostgresCluster;
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: a new one on the server. */
  readonly databaseUrl?: string;
}

/** The real server on a PostgreSQL that the test may do anything to, reached through a connection with faults. */
export interface DatabaseStage {
  readonly gateway: TestGateway;
  readonly simulator: TestSimulator;
  /** Straight to the gateway's database. */
  readonly directUrl: string;
  /** Between gateway and database. */
  readonly connection: TcpFault;
  readonly close: () => Promise<void>;
}

export async function openDatabaseStage({
  server,
  environment,
  databaseUrl,
}: DatabaseStageOptions): Promise<DatabaseStage> {
  const dataDir = await mkdtemp(join(tmpdir(), "database-stage-"));
  const directUrl = databaseUrl ?? (await createDatabase(server.url)).url;
  const connection = await startTcpFault({ port: Number(new URL(directUrl).port) });
  const simulator = await startSimulator({ uniqueUsage: true, tokensPerSecond: 400 });
  scriptLongStreams(simulator);
  const url = new URL(directUrl);
  url.port = String(connection.port);
  const gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ADMIN_PASSWORD,
    DATA_DIR: dataDir,
    DATABASE_URL: url.href,
    ...environment,
  });
  return {
    gateway,
    simulator,
    directUrl,
    connection,
    async close() {
      await gateway.stop();
      await simulator.stop();
      await connection.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
