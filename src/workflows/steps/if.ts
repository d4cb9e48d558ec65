import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  condition: z
    .string()
    .min(1)
    .describe("A CEL expression over `row`, `trigger` and `run`. Null counts as false."),
});

export const ifStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "if",
    group: "control",
    label: "If",
    help: "Sends each row to the main output when a condition is true, and to the output else otherwise.",
    example: { condition: 'row.category == "invoice"' },
    schema,
    outputs: () => ["else"],
    expressions: ({ condition }) => [{ field: "condition", kind: "expression", text: condition }],
    async run(context) {
      const settings = { where: context.settings.condition, otherwise: "else" };
      await runProgram(rowProcess, context, "filter", settings);
      return undefined;
    },
  });
