import { z } from "zod";
import { unpackRows } from "../../../src/workflows/rows/pack-rows.ts";
import type { Row, StepInput } from "../../../src/workflows/rows/row.ts";
import { StepFailure } from "../../../src/workflows/runs/run.ts";
import type { StepKinds } from "../../../src/workflows/steps/registry.ts";
import { defineStepKind, type StepKind } from "../../../src/workflows/steps/step-kind.ts";
import { rowOf } from "./row-of.ts";

/** Kinds of steps as small as they can be, one of each sort, for tests of what stands around them. */

const passOn: StepKind["run"] = async (context) => {
  for (const input of context.inputs) {
    for await (const chunk of input.chunks()) await context.output().chunk(chunk);
  }
  return undefined;
};

async function* rowsOf(inputs: readonly StepInput[]): AsyncGenerator<Row> {
  for (const input of inputs) {
    for await (const chunk of input.chunks()) yield* await unpackRows(chunk);
  }
}

const source = defineStepKind({
  kind: "tiny_source",
  group: "source",
  label: "Source",
  help: "Makes rows.",
  example: { rows: [{ n: 1 }] },
  schema: z.strictObject({ rows: z.array(z.looseObject({})).max(10_000) }),
  async run({ settings, output }) {
    for (const row of settings.rows) await output().push(row as Record<string, never>);
    return undefined;
  },
});
const pick = defineStepKind({
  kind: "tiny_pick",
  group: "control",
  label: "Pick",
  help: "Sends rows one way or the other.",
  example: { condition: "row.n > 1" },
  schema: z.strictObject({ condition: z.string().min(1).max(100) }),
  outputs: () => ["else"],
  expressions: ({ condition }) => [{ field: "condition", kind: "expression", text: condition }],
  async run({ inputs, output, reject }) {
    let number = 0;
    for await (const row of rowsOf(inputs)) {
      number += 1;
      const { n } = row;
      if (typeof n === "number") await output(n > 1 ? "main" : "else").push(row);
      else await reject({ row: number, code: "no_number", message: "n is no number." }, row);
    }
    return undefined;
  },
});
const model = defineStepKind({
  kind: "tiny_model",
  group: "model",
  label: "Model",
  help: "Labels rows.",
  example: { labels: ["a", "b"] },
  needsKey: true,
  schema: z.strictObject({
    labels: z.array(z.string().min(1)).min(2),
    concurrency: z.int().min(1).max(32).default(4),
  }),
  async run(context) {
    const { settings } = context;
    await context.eachRow({
      concurrency: settings.concurrency,
      async work({ row, idempotencyKey }) {
        if (rowOf(row)["n"] === 3)
          throw new StepFailure("bad_answer", "The model answered nothing.");
        context.addUsage({ calls: 1, inputTokens: 5, outputTokens: 1 });
        return [
          { ...rowOf(row), label: settings.labels[0], key: idempotencyKey.split(":").at(-1) },
        ];
      },
    });
    return undefined;
  },
});
const sink = defineStepKind({
  kind: "tiny_sink",
  group: "sink",
  label: "Sink",
  help: "Sends rows.",
  example: { to: "somewhere" },
  schema: z.strictObject({
    to: z.string().min(1).max(20),
    headers: z
      .record(z.string(), z.union([z.string(), z.strictObject({ secret: z.string() })]))
      .default({}),
  }),
  check: async ({ to }) =>
    to === "nowhere" ? [{ field: "to", message: "There is no such place. Use another." }] : [],
  async run(context) {
    if (context.isTest) context.tell(`would send to ${context.settings.to}`);
    return passOn(context as never);
  },
});
const admin = defineStepKind({
  kind: "tiny_admin",
  group: "source",
  label: "Files",
  help: "Reads files.",
  example: {},
  administratorsOnly: true,
  schema: z.strictObject({}),
  run: passOn,
});
const guard = defineStepKind({
  kind: "tiny_break",
  group: "control",
  label: "Break",
  help: "Ends the run.",
  example: { break_on: "empty" },
  schema: z.strictObject({ break_on: z.enum(["empty", "not_empty"]) }),
  runsOnEmpty: ({ break_on }) => break_on === "empty",
  run: async () => ({ breaks: { as: "failed", message: "nothing came" } }),
});

const list: readonly StepKind[] = [source, pick, model, sink, admin, guard];

export const tinyKinds: StepKinds = {
  list,
  find: (kind) => list.find((known) => known.kind === kind),
};
