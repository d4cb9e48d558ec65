import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../../src/backends/backend.ts";
import { type KeptModels, openKeptModels } from "../../../src/backends/models/kept-models.ts";
import type { ModelCatalog } from "../../../src/backends/models/model-catalog.ts";
import { createRegistry, type Registry } from "../../../src/backends/registry.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { CLOSED_PORT, serviceErrorOf, startRawServer } from "../support.ts";

const log = createLog("silent");
const DOWN = `http://127.0.0.1:${CLOSED_PORT}`;
const CLOUD = {
  ANTHROPIC_API_KEY: "key",
  ANTHROPIC_MODELS: "claude-x",
  DEFAULT_CHAT_MODEL: "claude-x",
};
let simulator: TestSimulator;
let folder: string;
const registries: Registry[] = [];
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kept-models-"));
});
afterEach(async () => {
  await closeAll();
  await rm(folder, { recursive: true });
});
afterAll(() => simulator.stop());

async function closeAll(): Promise<void> {
  for (const registry of registries.splice(0)) await registry.close();
}

/** A start of the gateway on the folder. */
async function start(environment: Record<string, string>): Promise<ModelCatalog> {
  const { settings } = loadConfig({ LLM_BACKEND: "vllm", ...environment });
  const kept = await openKeptModels(folder, log);
  const registry = createRegistry({ settings, kept, log, clock: systemClock });
  registries.push(registry);
  return registry.models;
}

async function listOnce(backend: "vllm" | "ollama"): Promise<readonly Model[]> {
  const models = await start({ LLM_BASE_URL: simulator.url, LLM_BACKEND: backend });
  await models.refresh();
  return models.list();
}

const keptText = () => readFile(join(folder, "local-models.json"), "utf8").catch(() => "");

const failureOf = (resolving: () => unknown) =>
  serviceErrorOf(Promise.resolve().then(async () => resolving()));

describe("The local engine's models, after a restart before the engine answers", () => {
  it.each(["vllm", "ollama"] as const)("are those that %s listed last", async (backend) => {
    const listed = await listOnce(backend);
    await closeAll();
    const models = await start({ LLM_BACKEND: backend, LLM_BASE_URL: DOWN, ...CLOUD });
    expect(models.resolve("sim-small")).toMatchObject({ backend: { name: backend } });
    await models.refresh();
    expect(models.resolve("sim-small")).toMatchObject({ backend: { name: backend } });
    expect(await models.list()).toEqual([...listed, expect.objectContaining({ id: "claude-x" })]);
  });

  it("are not another engine's, nor what a broken file says", async () => {
    await listOnce("vllm");
    await closeAll();
    expect((await openKeptModels(folder, log)).before("ollama")).toBeUndefined();
    await writeFile(join(folder, "local-models.json"), '{"backend":"vllm","models":[{"id":1}]}');
    const kept: KeptModels = await openKeptModels(folder, log);
    expect(kept.before("vllm")).toBeUndefined();
    kept.keep("vllm", []);
    await kept.settled();
    expect(await keptText()).toBe('{"backend":"vllm","models":[]}');
  });
});

describe("While the local engine has never listed its models", () => {
  it("a name of an assistant or a workflow fails, and no cloud's default stands in", async () => {
    const models = await start({ LLM_BASE_URL: DOWN, ...CLOUD });
    for (const _ of ["first", "once all have been asked"]) {
      const error = await failureOf(() => models.resolve("qwen3", "fixed"));
      expect(error).toMatchObject({ status: 502, code: "upstream_error" });
      expect(error.message).toMatch(/'vllm' has not answered yet.*LLM_BASE_URL/);
      expect(models.isComplete()).toBe(false);
    }
    expect(await models.resolve(undefined, "fixed")).toMatchObject({ model: { id: "claude-x" } });
  });

  it("a client's name is answered by the default of an installation with clouds alone", async () => {
    const models = await start({ LLM_BASE_URL: DOWN, ...CLOUD });
    expect(await models.resolve("gpt-4o")).toMatchObject({ model: { id: "claude-x" } });
  });

  it("says that the engine has not answered where there is no default", async () => {
    const models = await start({ LLM_BASE_URL: DOWN, ...CLOUD, DEFAULT_CHAT_MODEL: "qwen3" });
    const error = await failureOf(() => models.resolve("qwen3"));
    expect(error.message).toMatch(/'vllm' has not answered yet.*LLM_BASE_URL/);
  });

  it("a name of an assistant gets the default again once the engine has listed", async () => {
    const models = await start({ LLM_BASE_URL: simulator.url, ...CLOUD });
    expect(await models.resolve("gone", "fixed")).toMatchObject({ model: { id: "claude-x" } });
    expect(models.isComplete()).toBe(true);
    expect(models.resolve("gone", "fixed")).not.toBeInstanceOf(Promise);
  });

  it("a call waits for an engine that swallows everything only while nothing was asked", async () => {
    const silent = await startRawServer(() => undefined);
    try {
      const models = await start({ LLM_BASE_URL: silent.address });
      await models.refresh();
      const waiting = failureOf(() => models.resolve("qwen3"));
      const refreshing = models.refresh().then(() => "the refresh");
      expect(await Promise.race([waiting.then(() => "the call"), refreshing])).toBe("the call");
    } finally {
      await silent.stop();
    }
  });
});
