import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseServerUrl } from "../servers/databases/database-server.ts";
import { createMigratedDatabase } from "../servers/databases/test-database.ts";
import { startGateway, type TestGateway } from "../servers/start-gateway.ts";

export interface MeasuredGateway {
  readonly gateway: TestGateway;
  /** Where its usage rows are, for `readUsageRows`. */
  readonly store: { readonly DATA_DIR: string; readonly DATABASE_URL?: string };
  readonly close: () => Promise<void>;
}

/**
 * The real server for a load whose figures are taken: on PostgreSQL where there is one, because the embedded database
 * lives in the memory that is measured.
 */
export async function openMeasuredGateway(
  environment: Readonly<Record<string, string>>,
): Promise<MeasuredGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), "measured-"));
  const database =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  const store = {
    DATA_DIR: dataDir,
    ...(database !== undefined && { DATABASE_URL: database.url }),
  };
  const gateway = await startGateway({ LLM_BACKEND: "vllm", ...store, ...environment });
  return {
    gateway,
    store,
    async close() {
      await gateway.stop();
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
