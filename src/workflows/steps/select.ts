import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z
  .strictObject({
    fields: z
      .array(z.string())
      .min(1)
      .optional()
      .describe("The fields that are kept, in this order. A missing one is null. Default: all."),
    rename: z
      .record(z.string(), z.string().min(1))
      .default({})
      .describe("New names, by the old ones."),
  })
  .refine(({ fields, rename }) => fields !== undefined || Object.keys(rename).length > 0, {
    path: ["fields"],
    message: "Name `fields`, or `rename` some.",
  });

export const selectStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "select",
    group: "transform",
    label: "Choose fields",
    help: "Keeps some fields of each row and renames them.",
    example: { fields: ["id", "mail"], rename: { mail: "email" } },
    schema,
    async run(context) {
      await runProgram(rowProcess, context, "select");
      return undefined;
    },
  });
