import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const OPERATIONS = [
  ...["sum", "count", "min", "max", "avg"],
  ...["first", "last", "list", "count_distinct"],
] as const;

const value = z
  .strictObject({
    op: z
      .enum(OPERATIONS)
      .describe(
        "`sum` and `avg` take numbers and texts that are numbers, of up to 1,000 characters. `sum` is a number when all are JSON numbers and it is within 2^53; otherwise it is an exact text. `avg` is a number, rounded to about 15 digits. `min` and `max` compare by number where all values are numbers or such texts, otherwise as `sort` does, and give the value as it came. `count` without a field counts rows. All but `first`, `last` and `list` leave null out.",
      ),
    field: z.string().min(1).optional().describe("The field; `count` alone needs none."),
  })
  .refine(({ op, field }) => op === "count" || field !== undefined, {
    path: ["field"],
    message: "Name the field; `count` alone needs none.",
  });

const schema = z.strictObject({
  by: z
    .array(z.string().min(1))
    .default([])
    .describe("The fields whose equal values make a group. Default: all rows are one group."),
  values: z
    .record(z.string().min(1), value)
    .default({})
    .describe("The fields that are made for each group, beside those of `by`."),
});

export const aggregateStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "aggregate",
    group: "transform",
    label: "Group and sum up",
    help: "Makes one row of each group of rows, in the order in which the groups first appear.",
    example: {
      by: ["country"],
      values: { orders: { op: "count" }, revenue: { op: "sum", field: "total" } },
    },
    schema,
    async check({ by, values }) {
      const name = by.find((field) => Object.hasOwn(values, field));
      if (name === undefined) return [];
      const message = `The field '${name}' is made by 'by' and by 'values', and one would overwrite the other. Give the value another name.`;
      return [{ field: "values", message }];
    },
    async run(context) {
      await runProgram(rowProcess, context, "aggregate");
      return undefined;
    },
  });
