import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  select: z
    .string()
    .min(1)
    .describe(
      "One SELECT of SQLite over the inputs: each is a table with its step's name (`check_else` for an output). True and false are 1 and 0, lists and objects their JSON; decimals and integers beyond 2^53 are texts, so compare and sort them by CAST(total AS REAL) or AS INTEGER.",
    ),
});

export const sqlStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "sql",
    group: "transform",
    label: "SQL",
    help: "Yields the rows of one SELECT over its inputs.",
    example: { select: "SELECT country, sum(total) AS revenue FROM orders GROUP BY country" },
    schema,
    expressions: ({ select }, inputs) => [
      { field: "select", kind: "sql", text: select, tables: inputs },
    ],
    async run(context) {
      await runProgram(rowProcess, context, "sql");
      return undefined;
    },
  });
