import { expect, test } from "vitest";
import { createStepKinds } from "../../../src/workflows/steps/registry.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { readDocumentedKinds } from "../../support/workflows/documented-workflows.ts";

test("the table of the kinds of steps has every kind of the registry, with its group and who may use it", () => {
  // Factories take what they need and touch nothing before they run.
  const nothing: unknown = new Proxy(() => nothing, { get: () => nothing });
  const { list } = createStepKinds(nothing as StepServices);
  const registered = list.map(({ kind, group, administratorsOnly = false }) => [
    kind,
    group,
    administratorsOnly,
  ]);
  const byName = (one: readonly unknown[], other: readonly unknown[]) =>
    String(one[0]) < String(other[0]) ? -1 : 1;
  expect([...readDocumentedKinds()].sort(byName)).toEqual(registered.sort(byName));
});
