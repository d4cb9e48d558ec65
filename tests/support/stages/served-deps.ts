import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../../../src/app.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { buildDeps, type Deps } from "../../../src/deps.ts";
import { serve } from "../../../src/http/server/serve.ts";
import { createLog } from "../../../src/lib/log.ts";
import { placeMigratedDatabase } from "../servers/databases/prepared-database.ts";
import { createMigratedDatabase } from "../servers/databases/test-database.ts";
import { TEST_KEY } from "../servers/start-gateway.ts";

export const ADMIN_PASSWORD = "password of the administrator";

/** The server in this process, so that a test reaches what it stands on. */
export interface ServedDeps {
  readonly url: string;
  readonly deps: Deps;
  /** Undefined for the embedded database. */
  readonly databaseUrl: string | undefined;
  readonly close: () => Promise<void>;
}

/**
 * Serves everything on loopback, on a database of its own.
 *
 * @param databaseServerUrl a PostgreSQL; undefined takes the embedded database.
 * @param change puts something else in the place of a part.
 */
export async function serveDeps(
  databaseServerUrl: string | undefined,
  environment: Readonly<Record<string, string>> = {},
  change: (deps: Deps) => Deps = (deps) => deps,
): Promise<ServedDeps> {
  const dataDir = await mkdtemp(join(tmpdir(), "served-"));
  const store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  if (store === undefined) await placeMigratedDatabase(dataDir);
  const { settings } = loadConfig({
    DATA_DIR: dataDir,
    ADMIN_PASSWORD,
    BOOTSTRAP_API_KEY: TEST_KEY,
    TRUST_PROXY: "1",
    LLM_BASE_URL: "http://127.0.0.1:9",
    DB_POOL_WAIT_MS: "10000",
    ...(store !== undefined && { DATABASE_URL: store.url }),
    ...environment,
  });
  const deps = change(await buildDeps(settings, createLog("silent")));
  const { fetch } = createApp(deps);
  const server = await serve({ host: "127.0.0.1", port: 0, quietSeconds: 30, fetch });
  return {
    url: `http://127.0.0.1:${server.port}`,
    deps,
    databaseUrl: store?.url,
    async close() {
      server.close();
      await server.stop();
      await deps.close(2_000);
      await store?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
