import { describe, expect, it } from "vitest";
import type { Target } from "../../src/backends/models/model-catalog.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { resolveTarget } from "../../src/gateway/resolve-target.ts";

const scoped = { model: "any", toolsScope: ["search"] };
const target = {} as Target;

describe("A request with a scope of tools", () => {
  it("is refused for it, at once or as soon as the models are known", async () => {
    const refusal = { code: "unsupported_parameter", param: "metadata.ext.tools_scope" };
    const atOnce = () => resolveTarget({ resolve: () => target }, scoped);
    expect(atOnce).toThrow(expect.objectContaining(refusal));
    const later = resolveTarget({ resolve: async () => target }, scoped);
    await expect(later).rejects.toMatchObject(refusal);
  });

  it("is refused for its model where there is none", async () => {
    const failure = new ServiceError("upstream_error", "There is no model.");
    const found = resolveTarget({ resolve: () => Promise.reject(failure) }, scoped);
    await expect(found).rejects.toBe(failure);
  });
});
