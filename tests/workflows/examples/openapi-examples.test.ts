import { expect, test } from "vitest";
import { buildOpenApiDocument } from "../../../scripts/openapi-documents.ts";
import { parseDefinition } from "../../../src/workflows/definition/parse-definition.ts";
import { createStepKinds } from "../../../src/workflows/steps/registry.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import type { ApiDocument, Json } from "../../support/api-document.ts";

test("the workflows that the reference shows are ones that could be saved", () => {
  const { components } = JSON.parse(buildOpenApiDocument("console")) as ApiDocument;
  const kinds = createStepKinds({ connections: {} } as unknown as StepServices);
  for (const name of ["NewWorkflow", "Workflow"]) {
    const { example } = components.schemas[name] as Json;
    const { triggers, steps } = example as Json;
    expect(steps, name).not.toHaveLength(0);
    expect(parseDefinition({ triggers, steps }, kinds).faults, name).toEqual([]);
  }
});
