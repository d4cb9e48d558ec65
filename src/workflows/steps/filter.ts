import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  where: z
    .string()
    .min(1)
    .describe(
      "A CEL expression over `row`, `trigger` and `run` that is true for the rows to keep. Null counts as false.",
    ),
});

export const filterStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "filter",
    group: "transform",
    label: "Filter",
    help: "Keeps the rows for which a condition is true.",
    example: { where: 'row.amount != null && row.amount > 100 && row.country == "DE"' },
    schema,
    expressions: ({ where }) => [{ field: "where", kind: "expression", text: where }],
    async run(context) {
      await runProgram(rowProcess, context, "filter");
      return undefined;
    },
  });
