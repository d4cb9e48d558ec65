import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z
  .strictObject({
    break_on: z
      .enum(["empty", "not_empty", "condition"])
      .describe("Ends the run when there are no rows, when there are some, or by `condition`."),
    condition: z
      .string()
      .min(1)
      .optional()
      .describe(
        "With `break_on: condition`: a CEL expression over `row`, `trigger` and `run`. The run ends when it is true for at least one row.",
      ),
    as: z
      .enum(["completed", "failed"])
      .default("completed")
      .describe("The status of a run that ends here."),
    message: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("Why the run ended, for whoever looks at it."),
  })
  .refine(({ break_on, condition }) => (break_on === "condition") === (condition !== undefined), {
    path: ["condition"],
    message: "Write a condition with `break_on: condition`, and only there.",
  });

export const flowBreakStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "flow_break",
    group: "control",
    label: "End the run",
    help: "Ends the run here when its rows say so: nothing more starts and the rest is skipped; otherwise it passes the rows on.",
    example: { break_on: "empty", as: "completed", message: "There was nothing new." },
    schema,
    runsOnEmpty: ({ break_on }) => break_on === "empty",
    expressions: ({ condition }) =>
      condition === undefined ? [] : [{ field: "condition", kind: "expression", text: condition }],
    async run(context) {
      const { settings, inputs, output } = context;
      const rows = inputs.reduce((sum, input) => sum + input.rows, 0);
      const isBroken =
        settings.break_on === "condition"
          ? await runProgram(rowProcess, context, "any")
          : (rows === 0) === (settings.break_on === "empty");
      if (isBroken === true) {
        const { as, message = reasons[settings.break_on] } = settings;
        return { breaks: { as, message } };
      }
      const main = output();
      for (const input of inputs) for await (const chunk of input.chunks()) await main.chunk(chunk);
      return undefined;
    },
  });

const reasons = {
  empty: "There were no rows.",
  not_empty: "There were rows.",
  condition: "The condition was true for at least one row.",
} as const;
