import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  with: z
    .string()
    .min(1)
    .describe(
      "The input whose rows are looked up: a step's id, or `check_else` for an output, also named in `from`. The smaller one is the better choice.",
    ),
  on: z
    .union([z.array(z.string().min(1)).min(1), z.record(z.string().min(1), z.string().min(1))])
    .describe(
      'Fields with equal values: names that both sides have, or the names of this side with those of the other. Null equals nothing; 1 and "1" differ.',
    ),
  how: z
    .enum(["inner", "left", "right", "full", "anti"])
    .default("inner")
    .describe(
      "`inner`: rows with a partner. `left`, `right`, `full`: also those without one of this side, the other, both. `anti`: only those of this side without one.",
    ),
  prefix: z
    .string()
    .min(1)
    .default("right_")
    .describe(
      "Stands before a field of the other side that any row of this side has, too; again, until no field has the name.",
    ),
});

export const joinStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "join",
    group: "transform",
    label: "Join two inputs",
    help: "Adds to each row the fields of the rows of another input that have the same values.",
    example: { with: "customers", on: { customer_id: "id" }, how: "left" },
    schema,
    async check(settings, { step }) {
      const names = step.from.map((from) => from.replace(".", "_"));
      if (!names.includes(settings.with)) {
        const known = names.map((name) => `'${name}'`).join(", ");
        return [{ field: "with", message: `Name one of the inputs in 'from': ${known}.` }];
      }
      if (names.length > 1) return [];
      return [{ field: "with", message: "Name two inputs in 'from': both sides of the join." }];
    },
    async run(context) {
      await runProgram(rowProcess, context, "join");
      return undefined;
    },
  });
