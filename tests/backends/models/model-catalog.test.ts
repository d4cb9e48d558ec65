import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Backend, Model } from "../../../src/backends/backend.ts";
import {
  type CatalogOptions,
  createModelCatalog,
  type ModelCatalog,
} from "../../../src/backends/models/model-catalog.ts";
import { createRegistry, type Registry } from "../../../src/backends/registry.ts";
import { createOllama } from "../../../src/backends/vendors/ollama.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { freePort } from "../../support/processes/free-port.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { CLOSED_PORT, MODEL, serviceErrorOf, upstreamAt } from "../support.ts";

const log = createLog("silent");
let simulator: TestSimulator;
const registries: Registry[] = [];
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(async () => {
  simulator.reset();
  for (const registry of registries.splice(0)) await registry.close();
});
afterAll(() => simulator.stop());

function catalog(environment: Record<string, string>): ModelCatalog {
  const { settings } = loadConfig({ LLM_BASE_URL: simulator.url, ...environment });
  const registry = createRegistry({ settings, log, clock: systemClock });
  registries.push(registry);
  return registry.models;
}

const backend = (name: string, listed: readonly Model[]): Backend => ({
  ...createOllama(upstreamAt(simulator.url), 1),
  name,
  listModels: async () => listed,
});

function catalogOf(
  backends: CatalogOptions["backends"],
  options: Partial<CatalogOptions> = {},
): ModelCatalog {
  const defaults = { defaultModel: undefined, log, clock: systemClock };
  return createModelCatalog({ backends, ...defaults, ...options });
}

async function idOf(models: ModelCatalog, name: string | undefined): Promise<string> {
  return (await models.resolve(name)).model.id;
}

describe("4.2 model resolution", () => {
  it("a listed id answers itself", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    expect(await idOf(models, "sim-thinker")).toBe("sim-thinker");
  });

  it.each([undefined, "gpt-4o", "sim-embed", "", "__proto__", "constructor"])(
    "%j gets the first local chat model",
    async (name) => {
      expect(await idOf(catalog({ LLM_BACKEND: "vllm" }), name)).toBe("sim-chat");
    },
  );

  it("a missing or unknown name gets DEFAULT_CHAT_MODEL when it is listed", async () => {
    const models = catalog({ LLM_BACKEND: "vllm", DEFAULT_CHAT_MODEL: "sim-small" });
    expect(await idOf(models, "gpt-4o")).toBe("sim-small");
    const other = catalog({ LLM_BACKEND: "vllm", DEFAULT_CHAT_MODEL: "sim-embed" });
    expect(await idOf(other, undefined)).toBe("sim-chat");
  });

  it("Ollama's tag `latest` may be left out, and the true id is told", async () => {
    const models = catalog({ LLM_BACKEND: "ollama" });
    expect(await idOf(models, "sim-small")).toBe("sim-small:latest");
    expect(await idOf(models, "sim-small:latest")).toBe("sim-small:latest");
    expect(await idOf(models, "sim-small:8b")).toBe("sim-chat:latest");
  });

  it("an assistant's id that does not exist is a 404, never the default model", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    const error = await serviceErrorOf(Promise.resolve().then(() => models.resolve("asst_nope")));
    expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
  });

  it("the engine's address may end in /v1", async () => {
    const models = catalog({ LLM_BACKEND: "vllm", LLM_BASE_URL: `${simulator.url}/v1` });
    expect(await idOf(models, undefined)).toBe("sim-chat");
  });

  it("the simulator's models say what they are, and no other server's", async () => {
    for (const LLM_BACKEND of ["vllm", "ollama"] as const) {
      const listed = await catalog({ LLM_BACKEND }).list();
      expect(listed.map(({ isSimulated }) => isSimulated)).toEqual([true, true, true]);
    }
    // A name says nothing, nor does a value that another server might give the field.
    const data = [{ id: "sim-chat" }, { id: "sim-small", simulated: "yes" }];
    simulator.script({ match: { path: "/v1/models" }, respond: { status: 200, body: { data } } });
    const others = await catalog({ LLM_BACKEND: "vllm" }).list();
    expect(others.map(({ isSimulated }) => isSimulated)).toEqual([undefined, undefined]);
  });

  it("a cloud's models are told the form of an answer only where that is forwarded", async () => {
    const cloud = { ANTHROPIC_API_KEY: "key", ANTHROPIC_MODELS: "claude-x" };
    const told = async (settings: Record<string, string>) =>
      (await catalog({ LLM_BACKEND: "vllm", ...cloud, ...settings }).list()).map(
        ({ id, structuredOutputs }) => [id, structuredOutputs],
      );
    expect(await told({})).toContainEqual(["sim-chat", true]);
    expect(await told({})).toContainEqual(["claude-x", false]);
    const forwarded = await told({ ANTHROPIC_FORWARD: "response_format" });
    expect(forwarded).toContainEqual(["claude-x", true]);
  });

  it("lists chat models alone", async () => {
    const ids = (await catalog({ LLM_BACKEND: "vllm" }).list()).map(({ id }) => id);
    expect(ids).toEqual(["sim-chat", "sim-thinker", "sim-small"]);
  });
});

describe("The catalog", () => {
  it("asks once for many calls at the start, and waits for nothing afterwards", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    await Promise.all(Array.from({ length: 50 }, () => models.resolve(undefined)));
    expect(simulator.ledger()).toHaveLength(1);
    expect(models.resolve("sim-small")).not.toBeInstanceOf(Promise);
    expect(models.resolve("unknown")).not.toBeInstanceOf(Promise);
    expect(simulator.ledger()).toHaveLength(1);
  });

  it("keeps its models while the engine is away", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    await models.refresh();
    simulator.script({
      match: { path: "/v1/models" },
      times: "always",
      respond: { status: 500 },
    });
    await models.refresh();
    expect(await models.list()).toHaveLength(3);
    expect(await idOf(models, undefined)).toBe("sim-chat");
  });

  it("finds new models and forgets those that are gone", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    await models.refresh();
    const body = { data: [{ id: "new-model" }] };
    simulator.script({ match: { path: "/v1/models" }, respond: { status: 200, body } });
    await models.refresh();
    expect(await idOf(models, "new-model")).toBe("new-model");
    expect(await idOf(models, "sim-chat")).toBe("new-model");
  });

  it("refreshes by itself once started", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    models.start();
    models.start();
    await simulator.awaitEntry(({ path }) => path === "/v1/models");
    expect(simulator.ledger()).toHaveLength(1);
  });

  it("says what to do when there is no model, and asks anew at each call", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    const body = { data: [] };
    simulator.script({ match: { path: "/v1/models" }, respond: { status: 200, body } });
    const error = await serviceErrorOf(Promise.resolve(models.resolve(undefined)));
    expect(error).toMatchObject({ status: 502, code: "upstream_error" });
    expect(error.message).toMatch(/no chat model.*Load one/);
    expect(await idOf(models, undefined)).toBe("sim-chat");
  });

  it("says that the engine cannot be reached when that is why", async () => {
    const models = catalog({ LLM_BASE_URL: `http://127.0.0.1:${CLOSED_PORT}` });
    const error = await serviceErrorOf(Promise.resolve(models.resolve(undefined)));
    expect(error.message).toContain("LLM_BASE_URL");
    expect(await models.list()).toEqual([]);
  });

  it("takes the earlier backend's model of two with one name, and lists that one alone", async () => {
    const models = catalogOf([backend("first", [MODEL]), backend("second", [MODEL])]);
    expect((await models.resolve(MODEL.id)).backend.name).toBe("first");
    expect(await models.list()).toEqual([MODEL]);
    expect(models.find(MODEL.id)?.backend.name).toBe("first");
    expect(models.find("unknown")).toBeUndefined();
  });

  it("answers for a cloud's model before a slow local engine is heard", async () => {
    const cloudModel = { ...MODEL, id: "gpt-4o" };
    const silent: Backend = { ...backend("local", []), listModels: () => new Promise(() => {}) };
    const models = catalogOf([silent, backend("openai", [cloudModel])]);
    void models.refresh();
    await expect.poll(() => models.find("gpt-4o")?.backend.name).toBe("openai");
    expect(await models.resolve("gpt-4o")).toMatchObject({ model: cloudModel });
    expect(await models.list()).toEqual([cloudModel]);
  });

  it("sends no call for a local model to the cloud's default while the engine is being asked", async () => {
    const cloudModel = { ...MODEL, id: "gpt-4o" };
    let answer: (models: readonly Model[]) => void = () => undefined;
    const listed = new Promise<readonly Model[]>((resolve) => {
      answer = resolve;
    });
    const slow: Backend = { ...backend("local", []), listModels: () => listed };
    const models = catalogOf([slow, backend("openai", [cloudModel])], { defaultModel: "gpt-4o" });
    void models.refresh();
    await expect.poll(() => models.find("gpt-4o")?.backend.name).toBe("openai");
    const resolving = [models.resolve(MODEL.id), models.resolve("unknown")];
    answer([MODEL]);
    const [local, unknown] = await Promise.all(resolving);
    expect(local?.backend.name).toBe("local");
    expect(unknown?.backend.name).toBe("openai");
    // From now on nothing waits.
    expect(models.resolve("unknown")).toEqual(unknown);
  });

  it("does not take vLLM's embedding model of the settings for a chat model", async () => {
    const data = [{ id: "acme/vectors" }, { id: "acme/talk" }];
    simulator.script({
      match: { path: "/v1/models" },
      respond: { status: 200, body: { data } },
      times: 9,
    });
    const embeds = { LLM_BACKEND: "vllm", EMBEDDING_MODEL: "acme/vectors" };
    const models = catalog(embeds);
    expect((await models.list()).map(({ id }) => id)).toEqual(["acme/talk"]);
    expect(await idOf(models, undefined)).toBe("acme/talk");
    const elsewhere = catalog({ ...embeds, EMBEDDING_BASE_URL: simulator.url });
    expect(await elsewhere.list()).toHaveLength(2);
  });

  it("never takes a cloud's model for the default unless it is named so", async () => {
    const cloud = backend("openai", [{ ...MODEL, id: "gpt-4o" }]);
    const error = await serviceErrorOf(
      Promise.resolve(catalogOf([backend("local", []), cloud]).resolve("unknown")),
    );
    expect(error).toMatchObject({ status: 502, code: "upstream_error" });
    expect(error.message).toContain("DEFAULT_CHAT_MODEL");
    const named = catalogOf([backend("local", [MODEL]), cloud], { defaultModel: "gpt-4o" });
    expect(await idOf(named, "unknown")).toBe("gpt-4o");
  });

  it("has the operator's word on a model, by its id or without its tag", async () => {
    const overrides = new Map([
      ["qwen3", { tools: false, contextLength: 4_096 }],
      ["gpt-4o", { vision: false }],
      ["vectors", { chat: false }],
    ]);
    const local = backend(
      "local",
      ["vectors:latest", "qwen3:latest"].map((id) => ({ ...MODEL, id })),
    );
    const cloud = backend("openai", [{ ...MODEL, id: "gpt-4o" }]);
    const [qwen, gpt] = await catalogOf([local, cloud], { overrides }).list();
    expect(qwen).toEqual({ ...MODEL, id: "qwen3:latest", tools: false, contextLength: 4_096 });
    expect(gpt).toEqual({ ...MODEL, id: "gpt-4o", vision: false });
  });
});

describe("The clouds of the settings", () => {
  it("are offered with a key alone, after the local engine", async () => {
    const models = catalog({
      LLM_BACKEND: "vllm",
      OPENAI_API_KEY: "k",
      OPENAI_MODELS: "gpt-4o, text-embedding-3-small",
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_MODELS: "claude-opus-4-6",
      GEMINI_API_KEY: "k",
      GEMINI_MODELS: "gemini-2.5-pro",
      COMPATIBLE_MODELS: "mistral-large",
    });
    const listed = await models.list();
    expect(listed.map(({ id, ownedBy }) => [id, ownedBy])).toEqual([
      ["sim-chat", "vllm"],
      ["sim-thinker", "vllm"],
      ["sim-small", "vllm"],
      ["gpt-4o", "openai"],
      ["claude-opus-4-6", "anthropic"],
      ["gemini-2.5-pro", "google"],
    ]);
  });

  it("are warned of once where a key has no models, by the name of the setting", () => {
    const warnings: unknown[] = [];
    const warn = (fields: object) => void warnings.push(fields);
    const { settings } = loadConfig({ OPENAI_API_KEY: "secret", GEMINI_MODELS: "gemini-2.5-pro" });
    const warned = Object.assign(createLog("silent"), { warn });
    registries.push(createRegistry({ settings, log: warned, clock: systemClock }));
    expect(warnings).toEqual([{ setting: "OPENAI_MODELS" }, { setting: "GEMINI_API_KEY" }]);
  });
});

describe("Reachability", () => {
  it("is true while the engine answers and false when it is gone", async () => {
    const engine = await startSimulator();
    const models = catalog({ LLM_BASE_URL: engine.url, GATEWAY_RETRIES: "0" });
    expect(await models.reachable()).toBe(true);
    await engine.stop();
    await expect.poll(() => models.reachable(), { timeout: 30_000 }).toBe(false);
  });

  it("comes back with the engine", async () => {
    const port = await freePort();
    const models = catalog({ LLM_BASE_URL: `http://127.0.0.1:${port}`, GATEWAY_RETRIES: "0" });
    expect(await models.reachable()).toBe(false);
    const engine = await startSimulator({ port });
    await expect.poll(() => models.reachable(), { timeout: 30_000 }).toBe(true);
    await engine.stop();
  });

  it("is asked once for many who want to know", async () => {
    const models = catalog({ LLM_BACKEND: "vllm" });
    await Promise.all(Array.from({ length: 50 }, () => models.reachable()));
    expect(simulator.ledger()).toHaveLength(1);
  });

  it("is as of a moment ago while the engine hangs, and no longer than for a moment", async () => {
    let nowMs = 0;
    const clock = { now: () => nowMs };
    const { settings } = loadConfig({ LLM_BASE_URL: simulator.url, LLM_BACKEND: "vllm" });
    const registry = createRegistry({ settings, log, clock });
    registries.push(registry);
    expect(await registry.models.reachable()).toBe(true);
    simulator.script({
      match: { path: "/health" },
      times: "always",
      latencyMs: 60_000,
      respond: { status: 200 },
    });
    nowMs += 9_999;
    const askedAt = performance.now();
    expect(await registry.models.reachable()).toBe(true);
    expect(performance.now() - askedAt).toBeLessThan(10_000);
    nowMs += 1;
    expect(await registry.models.reachable()).toBe(false);
  });
});
