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
