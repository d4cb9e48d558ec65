import { describe, expect, it } from "vitest";
import type { ModelCatalog, Target } from "../../src/backends/models/model-catalog.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { resolveTarget } from "../../src/gateway/resolve-target.ts";
import { sessionCaller } from "../support/stages/assistants.ts";

const scoped = { model: "any", toolsScope: ["search"] };
const target = {} as Target;

function resolve(models: () => Target | Promise<Target>) {
  const gateway = { models: { resolve: models, find: () => undefined } as unknown as ModelCatalog };
  return resolveTarget(gateway, sessionCaller("usr_1"), scoped);
}

describe("A name that nobody knows while its server has never been reached", () => {
  const failure = new ServiceError("upstream_error", "'vllm' has not answered yet.");
  const cloud = { model: { id: "gpt-4.1" } } as Target;
  const found = (thrown: ServiceError, question: object, fallbacks?: readonly string[]) => {
    const models = {
      resolve: () => Promise.reject(thrown),
      find: (name: string) => (name === "gpt-4.1" ? cloud : undefined),
    } as unknown as ModelCatalog;
    const gateway = { models, fallbacks };
    return resolveTarget(gateway, sessionCaller("usr_1"), { model: "qwen3", ...question });
  };

  it("is answered by the first listed fallback, of the request or else of the settings", async () => {
    expect(await found(failure, {}, ["gone", "gpt-4.1"])).toBe(cloud);
    expect(await found(failure, { fallbacks: ["gpt-4.1"] })).toBe(cloud);
  });

  it("fails with the cause where no fallback is listed, or the request forbids them", async () => {
    await expect(found(failure, {}, ["gone"])).rejects.toBe(failure);
    await expect(found(failure, { fallbacks: [] }, ["gpt-4.1"])).rejects.toBe(failure);
    const refusal = new ServiceError("model_not_found", "There is no such assistant.");
    await expect(found(refusal, {}, ["gpt-4.1"])).rejects.toBe(refusal);
  });
});

describe("A request with a scope of tools", () => {
  it("is refused for it, at once or as soon as the models are known", async () => {
    const refusal = { code: "unsupported_parameter", param: "metadata.ext.tools_scope" };
    const atOnce = () => resolve(() => target);
    expect(atOnce).toThrow(expect.objectContaining(refusal));
    const later = resolve(async () => target);
    await expect(later).rejects.toMatchObject(refusal);
  });

  it("is refused for its model where there is none", async () => {
    const failure = new ServiceError("upstream_error", "There is no model.");
    const found = resolve(() => Promise.reject(failure));
    await expect(found).rejects.toBe(failure);
  });
});
