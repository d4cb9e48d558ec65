import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  set: z
    .record(z.string().min(1), z.union([z.string().min(1), z.number(), z.boolean(), z.null()]))
    .default({})
    .describe(
      "Fields and their new values: a CEL expression over `row`, `trigger` and `run`, or a text with `{{ expression }}` in it, or a number, true, false or null. All see the row as it came.",
    ),
  remove: z.array(z.string()).default([]).describe("Fields that are removed, after `set`."),
});

export const mapStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "map",
    group: "transform",
    label: "Set fields",
    help: "Sets and removes fields of each row.",
    example: {
      set: { total: "row.price * row.quantity", title: "{{ row.first }} {{ row.last }}" },
      remove: ["first", "last"],
    },
    schema,
    expressions: ({ set }) =>
      Object.entries(set).flatMap(([name, value]) =>
        typeof value === "string"
          ? [
              {
                field: `set.${name}`,
                kind: value.includes("{{") ? "text" : "expression",
                text: value,
              },
            ]
          : [],
      ),
    async run(context) {
      await runProgram(rowProcess, context, "map");
      return undefined;
    },
  });
