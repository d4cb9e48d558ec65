import { z } from "zod";
import type { JsonObject } from "../../lib/json/json.ts";
import { defineStepKind } from "./step-kind.ts";

const MAX_ROWS = 1_000;

const schema = z.strictObject({
  rows: z
    .array(z.record(z.string(), z.json()))
    .max(MAX_ROWS)
    .describe(`The rows, each a JSON object: up to ${MAX_ROWS}.`),
});

export const rowsStep = () =>
  defineStepKind({
    kind: "rows",
    group: "source",
    label: "Fixed rows",
    help: "Yields rows that are written in the workflow itself.",
    example: { rows: [{ country: "DE", rate: 19 }] },
    schema,
    async run({ settings, output }) {
      const main = output();
      for (const row of settings.rows) await main.push(row as JsonObject);
      return undefined;
    },
  });
