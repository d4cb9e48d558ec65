import { z } from "zod";
import { readOwner } from "../owner-caller.ts";
import { noCondition } from "../row-process/row-work.ts";
import type { Row } from "../rows/row.ts";
import { rowFailure } from "../runs/run.ts";
import { findReadable } from "./shared/named-dataset.ts";
import { faultsOf, toStepFailure } from "./shared/step-faults.ts";
import { defineStepKind, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const MAX_LIMIT = 100_000_000;
const MAX_EXPRESSION = 4_096;

const settings = z.strictObject({
  dataset: z
    .string()
    .min(1)
    .max(63)
    .describe(
      "The name of a dataset that is own or shared, or the id of any that the owner may read.",
    ),
  where: z
    .string()
    .min(1)
    .max(MAX_EXPRESSION)
    .optional()
    .describe("A CEL expression: only rows for which it is true are read. Null counts as false."),
  limit: z.int().min(1).max(MAX_LIMIT).optional().describe("Rows at most."),
});
type Settings = z.output<typeof settings>;

/** Reads the rows of a dataset as they are when the step starts. */
export function datasetReadStep({
  datasets,
  database,
  rowProcess,
}: Pick<StepServices, "datasets" | "database" | "rowProcess">): StepKind {
  /** Returns the rows that fulfil the condition. */
  const filter = async (
    rows: readonly Row[],
    { settings: { where }, scope, signal }: StepContext<Settings>,
    before: number,
  ): Promise<readonly Row[]> => {
    if (where === undefined) return rows;
    const templates = { where: { kind: "expression", expression: where } } as const;
    const results = await rowProcess.evaluate(templates, rows, scope, signal);
    return rows.filter((_, index) => {
      const result = results[index] ?? { values: {} };
      // A row of a source belongs to no input that could be routed.
      const row = before + index + 1;
      if ("error" in result) throw rowFailure({ row, ...result.error });
      const value = result.values["where"] ?? false;
      if (typeof value === "boolean") return value;
      const { code, message } = noCondition(where);
      throw rowFailure({ row, code, message });
    });
  };
  return defineStepKind<Settings>({
    kind: "dataset_read",
    group: "source",
    label: "Read a dataset",
    help: "Each row of a dataset that the workflow's owner may read becomes a row, in its order.",
    example: { dataset: "orders", where: "row.price > 100", limit: 1_000 },
    schema: settings,
    expressions: ({ where }) =>
      where === undefined ? [] : [{ field: "where", kind: "expression", text: where }],
    check: ({ dataset }, { owner }) =>
      findReadable(datasets, owner, dataset).then(() => [], faultsOf("dataset")),
    async run(context) {
      const { dataset: name, limit = Number.POSITIVE_INFINITY } = context.settings;
      const owner = await readOwner(database.askOwn, context.run.ownerId);
      const output = context.output();
      try {
        const dataset = await findReadable(datasets, owner, name);
        let seen = 0;
        let left = limit;
        for await (const rows of datasets.read(dataset, context.signal)) {
          const found = await filter(rows, context, seen);
          for (const row of found.slice(0, left)) await output.push(row);
          seen += rows.length;
          left -= found.length;
          if (left <= 0) break;
        }
      } catch (thrown) {
        throw toStepFailure(thrown);
      }
      return undefined;
    },
  });
}
