import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  field: z
    .string()
    .min(1)
    .describe(
      "The field with the list. An empty list or null makes no row; an object is a wrong row.",
    ),
});

export const explodeStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "explode",
    group: "transform",
    label: "One row for each item",
    help: "Makes a row of each item of a list, with the other fields beside it.",
    example: { field: "lines" },
    schema,
    async run(context) {
      await runProgram(rowProcess, context, "explode");
      return undefined;
    },
  });
