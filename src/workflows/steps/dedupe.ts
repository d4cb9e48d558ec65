import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  by: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("The fields that make two rows the same. Default: all, in any order."),
});

export const dedupeStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "dedupe",
    group: "transform",
    label: "Remove duplicates",
    help: "Keeps the first of the rows that have the same values.",
    example: { by: ["email"] },
    schema,
    async run(context) {
      await runProgram(rowProcess, context, "dedupe");
      return undefined;
    },
  });
