import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const sortField = z.strictObject({
  field: z.string().min(1).describe("The field's name."),
  order: z.enum(["asc", "desc"]).default("asc").describe("From the smallest up, or down to it."),
});

const schema = z.strictObject({
  by: z
    .array(z.union([z.string().min(1), sortField]))
    .min(1)
    .max(20)
    .describe(
      "Fields, the most important first: a name, or `{field, order}`. A field whose values are numbers, or texts that are numbers, is sorted by number. Null comes first, then false and true, numbers, texts by their characters' codes, lists and objects.",
    ),
});

export const sortStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "sort",
    group: "transform",
    label: "Sort",
    help: "Puts the rows in order; rows with equal values stay as they came.",
    example: { by: [{ field: "created_at", order: "desc" }, "name"] },
    schema,
    async run(context) {
      await runProgram(rowProcess, context, "sort");
      return undefined;
    },
  });
