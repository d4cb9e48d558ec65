import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { SimulatorOptions } from "../../../simulator/options.ts";
import { callGateway } from "../clients/call-gateway.ts";
import { databaseServerUrl } from "../servers/databases/database-server.ts";
import { createMigratedDatabase } from "../servers/databases/test-database.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../servers/start-simulator.ts";
import { readUsageRows, type StoredUsage } from "./usage/stored-usage.ts";

export const ENGINES = ["vllm", "ollama"] as const;
export type Engine = (typeof ENGINES)[number];

/** The gateway's key for the engine: seen by the engine, and by nobody else. */
export const ENGINE_KEY = "canary-of-the-engine-5f2c9a7d41";

const STAGE_PASSWORD = "password of the stage 8c1d";

/** Where each engine takes chat calls. */
export const CHAT_CALLS: Readonly<Record<Engine, string>> = {
  vllm: "/v1/chat/completions",
  ollama: "/api/chat",
};

export interface StageOptions {
  readonly engine: Engine;
  /** Names of chat models; each case has its own, so that its usage rows are known by it. */
  readonly models: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly simulator?: Partial<SimulatorOptions>;
  /** What stands between gateway and simulator. */
  readonly addressOf?: (simulator: TestSimulator) => Promise<string> | string;
}

/** The real server in front of a simulated engine, on a real PostgreSQL where there is one, else on its embedded database. */
export interface Stage {
  readonly engine: Engine;
  readonly simulator: TestSimulator;
  readonly gateway: TestGateway;
  /** Checks that the server is unhurt, stops it and tells the usage rows it has written; once, however often it is asked. */
  readonly finish: () => Promise<readonly StoredUsage[]>;
}

export async function startStage(options: StageOptions): Promise<Stage> {
  const { engine, models, environment = {} } = options;
  const dataDir = await mkdtemp(join(tmpdir(), "stage-"));
  const simulator = await startSimulator({
    models: models.map((name) => ({
      name,
      contextLength: 32_768,
      capabilities: ["completion", "tools", "thinking"],
    })),
    ...options.simulator,
  });
  const store =
    databaseServerUrl === undefined ? undefined : await createMigratedDatabase(databaseServerUrl);
  const settings = {
    DATA_DIR: dataDir,
    ...(store !== undefined && { DATABASE_URL: store.url }),
  };
  const gateway = await startGateway({
    LLM_BACKEND: engine,
    LLM_BASE_URL: (await options.addressOf?.(simulator)) ?? simulator.url,
    LLM_API_KEY: ENGINE_KEY,
    // Whoever waits for the database waits on a machine that does much else, too.
    DB_POOL_WAIT_MS: "30000",
    // Else one is made up and printed among the lines of the log.
    ADMIN_PASSWORD: STAGE_PASSWORD,
    ...settings,
    ...environment,
  });
  let finished: Promise<readonly StoredUsage[]> | undefined;
  const finish = async () => {
    try {
      await expectUnhurt(gateway);
      await gateway.stop();
      expectCleanOutput(gateway);
      return await readUsageRows(settings);
    } finally {
      gateway.kill("SIGKILL");
      await gateway.exited;
      await simulator.stop();
      await store?.drop();
      await rm(dataDir, { recursive: true, force: true });
    }
  };
  return {
    engine,
    simulator,
    gateway,
    finish: () => {
      finished ??= finish();
      return finished;
    },
  };
}

/** Starts a stage for each engine, side by side. */
export function startStages(
  optionsOf: (engine: Engine) => StageOptions,
): Readonly<Record<Engine, Promise<Stage>>> {
  return { vllm: startStage(optionsOf("vllm")), ollama: startStage(optionsOf("ollama")) };
}

/** The same process still answers. */
export async function expectUnhurt(gateway: TestGateway): Promise<void> {
  const health = await callGateway(gateway.port, { method: "GET", path: "/api/health" });
  expect(health.status).toBe(200);
  process.kill(gateway.pid, 0);
}

/** No unhandled rejection and no secret in what the server has written. */
export function expectCleanOutput(gateway: TestGateway): void {
  const output = gateway.output();
  expect(output).not.toMatch(/unhandled|uncaught/i);
  for (const secret of [ENGINE_KEY, TEST_KEY, STAGE_PASSWORD]) expect(output).not.toContain(secret);
}

/** The lines of its log that are errors. */
export function errorLines(gateway: TestGateway): readonly string[] {
  return gateway
    .output()
    .split("\n")
    .filter((line) => /"level":"(?:error|fatal)"/.test(line));
}
