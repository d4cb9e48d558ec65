import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { aggregateStep } from "../../../src/workflows/steps/aggregate.ts";
import { selectStep } from "../../../src/workflows/steps/select.ts";
import type { CheckContext, StepKind } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";

const services = {} as Pick<StepServices, "rowProcess">;

const faultsOf = async (kind: StepKind, settings: JsonObject) =>
  (await kind.check?.(kind.schema.parse(settings), {} as CheckContext)) ?? [];

describe("select", () => {
  const select = selectStep(services);

  test.each<[JsonObject, RegExp]>([
    [{ fields: ["a", "b"], rename: { a: "b" } }, /'a' and 'b' .* named 'b'/],
    [{ fields: ["b", "a"], rename: { a: "b" } }, /'b' and 'a' .* named 'b'/],
    [{ fields: ["a", "b"], rename: { a: "c", b: "c" } }, /'a' and 'b' .* named 'c'/],
    [{ rename: { a: "c", b: "c" } }, /'a' and 'b' .* named 'c'/],
  ])("refuses %j", async (settings, message) => {
    expect(await faultsOf(select, settings)).toEqual([
      { field: "rename", message: expect.stringMatching(message) },
    ]);
  });

  test.each<[JsonObject]>([
    [{ fields: ["a", "b"], rename: { a: "b", b: "a" } }],
    [{ fields: ["b"], rename: { a: "b" } }],
    [{ fields: ["a", "a"] }],
    [{ rename: { a: "b" } }],
  ])("takes %j", async (settings) => {
    expect(await faultsOf(select, settings)).toEqual([]);
  });
});

describe("aggregate", () => {
  const aggregate = aggregateStep(services);
  const by = ["id", "country"];

  test("refuses a value with the name of a field of `by`", async () => {
    expect(await faultsOf(aggregate, { by, values: { country: { op: "count" } } })).toEqual([
      { field: "values", message: expect.stringContaining("'country'") },
    ]);
  });

  test("takes values of other names", async () => {
    const values = { orders: { op: "count" }, last: { op: "last", field: "country" } };
    expect(await faultsOf(aggregate, { by, values })).toEqual([]);
  });
});
