import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  count: z.int().min(0).describe("Rows to pass on, at most."),
  offset: z.int().min(0).default(0).describe("Rows to leave out before them."),
});

export const limitStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "limit",
    group: "transform",
    label: "First rows",
    help: "Passes on a number of rows and leaves out the rest.",
    example: { count: 100, offset: 0 },
    schema,
    async run(context) {
      await runProgram(rowProcess, context, "limit");
      return undefined;
    },
  });
