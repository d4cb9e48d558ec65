import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SimulatorOptions } from "../../../simulator/options.ts";
import { callGateway } from "../clients/call-gateway.ts";
import type { RawResponse } from "../clients/raw-client.ts";
import { expectCleanOutput, expectUnhurt } from "../stages/engine-stage.ts";
import { databaseServerUrl } from "./databases/database-server.ts";
import { createMigratedDatabase } from "./databases/test-database.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";
import { startGateway, type TestGateway } from "./start-gateway.ts";
import { startSimulator, type TestSimulator } from "./start-simulator.ts";

export interface ReplicasOptions {
  readonly count?: number;
  readonly simulator?: Partial<SimulatorOptions>;
  readonly environment?: Readonly<Record<string, string>>;
}

/** An API key, made as an administrator does. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

/** Several real servers in front of one engine, on one PostgreSQL and one Redis. */
export interface Replicas {
  readonly gateways: readonly TestGateway[];
  readonly simulator: TestSimulator;
  readonly redis: RedisServer;
  readonly databaseUrl: string;
  /** What each replica is started with, but for its own folder. */
  readonly environment: Readonly<Record<string, string>>;
  /** Issues a key with these fields, and waits until every replica knows it. */
  readonly issueKey: (fields: Readonly<Record<string, unknown>>) => Promise<IssuedKey>;
  /** Kills one with SIGKILL and starts it again in its folder. */
  readonly restart: (index: number) => Promise<TestGateway>;
  /** Checks that all are unhurt and stops everything. */
  readonly finish: () => Promise<void>;
}

/** Undefined, with a line that says so, where there is no PostgreSQL or no Redis. */
export async function startReplicas(options: ReplicasOptions = {}): Promise<Replicas | undefined> {
  const { count = 3 } = options;
  if (databaseServerUrl === undefined) return undefined;
  const redis = await startRedisServer();
  if (redis === undefined) return undefined;
  const root = await mkdtemp(join(tmpdir(), "replicas-"));
  const simulator = await startSimulator(options.simulator);
  const { url: databaseUrl, drop } = await createMigratedDatabase(databaseServerUrl);
  const environment = {
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    APP_SECRET: "the secret of all these replicas",
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    // Whoever waits for the database waits on a machine that does much else, too.
    DB_POOL_WAIT_MS: "30000",
    ...options.environment,
  };
  const start = (index: number) =>
    startGateway({ ...environment, DATA_DIR: join(root, String(index)) });
  const gateways = await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
  return {
    gateways,
    simulator,
    redis,
    databaseUrl,
    environment,
    issueKey: (fields) => issueKey(gateways, fields),
    async restart(index) {
      gateways[index]?.kill("SIGKILL");
      await gateways[index]?.exited;
      const gateway = await start(index);
      gateways[index] = gateway;
      return gateway;
    },
    async finish() {
      try {
        for (const gateway of gateways) {
          await expectUnhurt(gateway);
          await gateway.stop();
          expectCleanOutput(gateway);
        }
      } finally {
        for (const gateway of gateways) {
          gateway.kill("SIGKILL");
          await gateway.exited;
        }
        await simulator.stop();
        await redis.remove();
        await drop();
        await rm(root, { recursive: true, force: true });
      }
    },
  };
}

/** Sends a request with a key of its own. */
export function callWithKey(
  gateway: TestGateway,
  key: string,
  request: { readonly method?: string; readonly path?: string; readonly body?: unknown } = {},
): Promise<RawResponse> {
  return callGateway(gateway.port, { ...request, headers: { authorization: `Bearer ${key}` } });
}

async function issueKey(
  gateways: readonly TestGateway[],
  fields: Readonly<Record<string, unknown>>,
): Promise<IssuedKey> {
  const [first] = gateways;
  const body = { name: "of a test", ...fields };
  const response = await callGateway(first?.port ?? 0, { path: "/v1/api-keys", body });
  if (response.status !== 201) throw new Error(`no key was issued: ${response.text}`);
  const { id, key } = response.json() as unknown as IssuedKey;
  for (const gateway of gateways) {
    while ((await callWithKey(gateway, key, { method: "GET", path: "/v1/models" })).status !== 200);
  }
  return { id, key };
}
