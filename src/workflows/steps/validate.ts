import { z } from "zod";
import { runProgram } from "../row-process/run-program.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const schema = z.strictObject({
  schema: z
    .record(z.string(), z.json())
    .describe(
      "A JSON Schema (2020-12) of a row. References to other documents and patterns that look around are not supported.",
    ),
});

export const validateStep = ({ rowProcess }: Pick<StepServices, "rowProcess">) =>
  defineStepKind({
    kind: "validate",
    group: "transform",
    label: "Check rows",
    help: "Passes on the rows that fulfil a JSON Schema; what becomes of the others is decided by on_row_error.",
    example: {
      schema: {
        type: "object",
        required: ["id"],
        properties: { id: { type: "integer" }, email: { type: "string", pattern: "@" } },
      },
    },
    schema,
    expressions: (settings) => [
      { field: "schema", kind: "json_schema", text: JSON.stringify(settings.schema) },
    ],
    async run(context) {
      await runProgram(rowProcess, context, "validate");
      return undefined;
    },
  });
