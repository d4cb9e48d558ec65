import { z } from "zod";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import {
  COLUMN_TYPE_NAMES,
  checkColumns,
  checkDatasetName,
  MAX_COLUMNS,
  MAX_KEY_COLUMNS,
} from "../../data/datasets/columns.ts";
import {
  DATASET_CHANGES,
  type DatasetLoad,
  type DatasetRowFault,
} from "../../data/datasets/datasets.ts";
import { ColumnInference } from "../../data/datasets/imports/infer-columns.ts";
import { isQueryFailure, LOCK_NOT_AVAILABLE, toDatabaseError } from "../../db/database-error.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import { readOwner } from "../owner-caller.ts";
import { unpackRows } from "../rows/pack-rows.ts";
import type { Row, RowChunk } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { findOwn } from "./shared/named-dataset.ts";

import { faultsOf, toStepFailure } from "./shared/step-faults.ts";
import { defineStepKind, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

const column = z.strictObject({
  name: z.string().max(63),
  type: z.enum(COLUMN_TYPE_NAMES as [DatasetColumn["type"]]),
});
const settings = z.strictObject({
  dataset: z
    .string()
    .min(1)
    .max(63)
    .describe("The name of an own dataset, or the id of any that the owner may change."),
  mode: z
    .enum(DATASET_CHANGES)
    .default("append")
    .describe("`replace` swaps all rows at once, `upsert` replaces those with the same key."),
  create: z
    .strictObject({
      columns: z
        .array(column)
        .min(1)
        .max(MAX_COLUMNS)
        .optional()
        .describe("Without them they follow from all rows."),
      key: z.array(z.string().max(63)).max(MAX_KEY_COLUMNS).default([]),
    })
    .optional()
    .describe(
      "Creates the dataset with the first rows, private, where there is none of this name.",
    ),
});
type Settings = z.output<typeof settings>;
type Context = StepContext<Settings>;

/** Writes rows into a dataset: all of them with the end of the step, once. */
export function datasetWriteStep({
  datasets,
  database,
}: Pick<StepServices, "datasets" | "database">): StepKind {
  /** Undefined when there is nothing that a dataset could be created from. */
  const open = async (context: Context, owner: Caller): Promise<DatasetLoad | undefined> => {
    const { dataset: name, mode, create } = context.settings;
    try {
      return await datasets.load(await findOwn(datasets, owner, name), mode);
    } catch (thrown) {
      if (create === undefined || !isUnknown(thrown)) throw thrown;
    }
    const columns = create.columns ?? (await inferColumns(context));
    if (columns.length === 0) return undefined;
    return datasets.loadNew(owner.ownerId, { name, columns, key: create.key });
  };
  const write = async (context: Context): Promise<void> => {
    const load = await open(context, await readOwner(database.askOwn, context.run.ownerId));
    if (load === undefined) return;
    try {
      const written = await addRows(load, context);
      if (context.isTest) {
        const { dataset, mode } = context.settings;
        context.tell(`Would ${mode} ${written} rows to the dataset '${dataset}'.`);
        return;
      }
      await load.prepare();
      const { id: runId, chain, workflowId } = context.run;
      await context.commit(async (transaction) => {
        await load
          .commit(transaction, { runId, chain: [...chain, workflowId] })
          .catch(rejectConflict);
      });
      datasets.wake();
    } finally {
      await load.discard();
    }
  };
  return defineStepKind<Settings>({
    kind: "dataset_write",
    group: "sink",
    label: "Write a dataset",
    help: "Writes the rows into a dataset that the workflow's owner may change, all at once and only once.",
    example: { dataset: "orders", mode: "upsert", create: { key: ["order_no"] } },
    schema: settings,
    async check({ dataset, mode, create }, { owner }) {
      try {
        const { key } = await findOwn(datasets, owner, dataset);
        return mode === "upsert" && key.length === 0
          ? [{ field: "mode", message: `'${dataset}' has no key to upsert by.` }]
          : [];
      } catch (thrown) {
        if (create === undefined || !isUnknown(thrown)) return faultsOf("dataset")(thrown);
        return faultsOfCreate(dataset, mode, create);
      }
    },
    async run(context) {
      try {
        await write(context);
      } catch (thrown) {
        throw toStepFailure(thrown);
      }
      return undefined;
    },
  });
}

/** Another change of the dataset took longer than a lock is waited for. */
function rejectConflict(thrown: unknown): never {
  if (!isQueryFailure(thrown) || toDatabaseError(thrown).code !== LOCK_NOT_AVAILABLE) throw thrown;
  const message = "Another change of the dataset takes long. Run the step again.";
  throw new StepFailure("conflict", message, { isRetryable: true, cause: thrown });
}

function faultsOfCreate(name: string, mode: string, create: NonNullable<Settings["create"]>) {
  try {
    checkDatasetName(name);
  } catch (thrown) {
    return faultsOf("dataset")(thrown);
  }
  if (mode === "upsert" && create.key.length === 0) {
    return [{ field: "create.key", message: "An upsert needs a key." }];
  }
  try {
    if (create.columns !== undefined) checkColumns(create.columns, create.key);
    return [];
  } catch (thrown) {
    const param = thrown instanceof ServiceError ? thrown.param : undefined;
    return faultsOf(`create.${param ?? "columns"}`)(thrown);
  }
}

/** Returns the number of rows that were taken; passes them on, and rejects the others. */
async function addRows(load: DatasetLoad, context: Context): Promise<number> {
  const output = context.output();
  let before = 0;
  let written = 0;
  for await (const chunk of chunksOf(context)) {
    const rows = await unpackRows(chunk);
    const faults = await load.add(rows);
    if (faults.length === 0) await output.chunk(chunk);
    else await passOn(rows, faults, { context, before });
    before += rows.length;
    written += rows.length - faults.length;
  }
  return written;
}

async function* chunksOf({ inputs, signal }: Context): AsyncGenerator<RowChunk, void> {
  for (const input of inputs) {
    for await (const chunk of input.chunks()) {
      signal.throwIfAborted();
      yield chunk;
    }
  }
}

async function passOn(
  rows: readonly Row[],
  faults: readonly DatasetRowFault[],
  { context, before }: { readonly context: Context; readonly before: number },
): Promise<void> {
  const byRow = new Map(faults.map((fault) => [fault.row, fault]));
  const output = context.output();
  for (const [index, row] of rows.entries()) {
    const number = before + index + 1;
    const fault = byRow.get(number);
    if (fault === undefined) await output.push(row);
    else await context.reject({ row: number, code: "invalid_row", message: textOf(fault) }, row);
  }
}

function textOf({ column: name, message }: DatasetRowFault): string {
  return name === null ? message : `'${name}': ${message}`;
}

/** The rows keep their names, so that the next run writes the same columns. */
async function inferColumns(context: Context): Promise<readonly DatasetColumn[]> {
  const inference = new ColumnInference(true);
  for await (const chunk of chunksOf(context)) {
    for (const row of await unpackRows(chunk)) inference.add(row);
  }
  return inference.fields().map(({ heading, type }) => ({ name: heading, type }));
}

function isUnknown(thrown: unknown): boolean {
  return thrown instanceof ServiceError && thrown.code === "not_found";
}
