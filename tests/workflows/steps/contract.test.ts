import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { createStepKinds } from "../../../src/workflows/steps/registry.ts";
import type { StepKind } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

// Every kind of the registry, whoever wrote it. A kind without services besides the row process also runs here.
const rowProcess = openRowProcess({ processes: 1 });
const data = mkdtempSync(join(tmpdir(), "contract-"));
mkdirSync(join(data, "workspace"));
const fileConnections = openFileConnections({ WATCH_DIRS: [], DATA_DIR: data });
const kinds = createStepKinds({
  ...{ rowProcess, fileConnections },
  connections: { saved: {} },
} as unknown as StepServices).list;
afterAll(() => {
  rowProcess.close();
  rmSync(data, { recursive: true });
});

const named = kinds.map((kind) => [kind.kind, kind] as const);
/** Transforms and control need nothing but the row process, but for those that start runs. */
const runnable = named.filter(
  ([name, { group }]) => group === "transform" || (group === "control" && name !== "run_workflow"),
);

/** Two rows that the example of the kind takes. */
const FITTING: Readonly<Record<string, readonly Row[]>> = {
  aggregate: [{ country: "DE", total: 1 }],
  explode: [{ lines: [1, 2] }],
  map: [{ price: 2, quantity: 3, first: "Ada", last: "Lovelace" }],
  validate: [{ id: 1, email: "a@b" }],
};
/** A row that the example cannot take, where there is one. */
const WRONG: Readonly<Record<string, Row>> = {
  aggregate: { country: "DE", total: "many" },
  explode: { lines: {} },
  filter: { amount: "many", country: "DE" },
  map: { price: "many", quantity: 3 },
  validate: { id: "one" },
};
const fitting = (kind: StepKind) =>
  FITTING[kind.kind] ?? [{ id: 1, amount: 200, country: "DE", total: 1 }];

/** The inputs that the example names. */
function inputsOf(kind: StepKind, rows: readonly Row[]): Readonly<Record<string, readonly Row[]>> {
  if (kind.kind === "join") return { orders: rows, customers: [{ id: 1 }] };
  return { orders: rows };
}

function run(kind: StepKind, rows: readonly Row[], more: JsonObject = {}) {
  return runStep(kind, { settings: kind.example, inputs: inputsOf(kind, rows), ...more });
}

describe.each(named)("%s", (_name, kind) => {
  test("has a name, a label and a sentence of help", () => {
    expect(kind.kind).toMatch(/^[a-z][a-z0-9_]{0,39}$/);
    expect(kind.label).toMatch(/^[A-Z].{1,39}$/);
    expect(kind.label).not.toMatch(/\.$/);
    expect(kind.help).toMatch(/^[A-Z].{20,200}\.$/);
    expect(kinds.filter((other) => other.kind === kind.kind)).toHaveLength(1);
  });

  test("has an example that passes its schema, twice", () => {
    const parsed = kind.schema.parse(kind.example);
    expect(kind.schema.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed);
  });

  test("refuses an unknown field by its name", () => {
    const result = kind.schema.safeParse({ ...kind.example, unknown_field: 1 });
    expect(JSON.stringify(result.error?.issues)).toContain("unknown_field");
  });

  test("claims none of the fields that all steps have", () => {
    const common = [
      "id",
      "kind",
      "from",
      "run_on_empty",
      "retries",
      "timeout_seconds",
      "on_row_error",
    ];
    expect(Object.keys(kind.example).filter((name) => common.includes(name))).toEqual([]);
  });

  test("names its outputs beside main and errors", () => {
    const outputs = kind.outputs?.(kind.schema.parse(kind.example)) ?? [];
    for (const output of outputs) expect(output).toMatch(/^[a-z][a-z0-9_]{0,39}$/);
    expect(outputs).not.toContain("main");
    expect(outputs).not.toContain("errors");
  });

  test("has expressions that are right in its example", async () => {
    const settings = kind.schema.parse(kind.example);
    const expressions = kind.expressions?.(settings, ["orders", "customers"]) ?? [];
    expect(await rowProcess.check(expressions)).toEqual([]);
  });
});

describe.each(runnable)("%s", (name, kind) => {
  test("works on no rows and on one", async () => {
    const none = await run(kind, []);
    expect(none.rowErrors).toBe(0);
    const one = await run(kind, fitting(kind));
    expect(one.rowErrors).toBe(0);
    const rows = Object.values(one.outputs).flat().length;
    expect(rows > 0 || one.end !== undefined).toBe(true);
  });

  test("yields the same when it is called again", async () => {
    const rows = fitting(kind);
    expect(await run(kind, rows)).toEqual(await run(kind, rows));
  });

  test("throws the reason of an abort", async () => {
    const reason = new Error("stopped");
    const controller = new AbortController();
    controller.abort(reason);
    const settings =
      name === "flow_break" ? { break_on: "condition", condition: "true" } : kind.example;
    const step = runStep(kind, {
      settings,
      inputs: inputsOf(kind, fitting(kind)),
      signal: controller.signal,
    });
    await expect(step).rejects.toBe(reason);
  });

  const wrong = WRONG[name];
  if (wrong === undefined) return;

  test("treats a row that it cannot take as on_row_error says", async () => {
    const rows = [...fitting(kind), wrong, ...fitting(kind)];
    const number = fitting(kind).length + 1;
    await expect(run(kind, rows)).rejects.toMatchObject({ name: "StepFailure", row: number });
    const skipped = await run(kind, rows, { onRowError: "skip" });
    expect([skipped.rowErrors, skipped.firstRowError?.row]).toEqual([1, number]);
    const routed = await run(kind, rows, { onRowError: "route" });
    expect(routed.outputs["errors"]).toMatchObject([{ ...wrong, _error: { row: number } }]);
    expect(routed.outputs.main).toEqual(skipped.outputs.main);
  });
});
