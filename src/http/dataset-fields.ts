import { z } from "@hono/zod-openapi";
import {
  COLUMN_NAME,
  COLUMN_TYPE_NAMES,
  DATASET_NAME,
  MAX_COLUMNS,
  MAX_KEY_COLUMNS,
} from "../data/datasets/columns.ts";
import type { DatasetRow } from "../data/datasets/dataset-store.ts";
import { count, storableText, time } from "./fields.ts";
import { byOffset, countedList, page, search } from "./page.ts";

const MAX_DESCRIPTION = 1_000;
/** 500 columns with long names. */
export const BODY_LIMITS = { maxBytes: 256 * 1024, maxDepth: 16, isFixed: true } as const;

const name = z
  .string()
  .regex(DATASET_NAME, "a name of a-z, 0-9 and _, a letter first, up to 63 characters")
  .openapi({
    description: "Unique. BI keys and queries name it; built-in tables keep their names.",
    example: "orders",
  });
const description = storableText(MAX_DESCRIPTION);
const visibility = z.enum(["private", "everyone"]).openapi({
  description: "`everyone`: all users may read it; only administrators share a dataset.",
});
const column = z
  .strictObject({
    name: z
      .string()
      .regex(COLUMN_NAME, "letters, digits and _, a letter first, up to 63 characters"),
    type: z.enum(COLUMN_TYPE_NAMES as [DatasetRow["columns"][number]["type"]]),
  })
  .openapi("DatasetColumn", {
    description:
      "`integer` has 64 bits, `decimal` any number of digits, `number` is binary with 64 bits; a `timestamp` is kept " +
      "in UTC to the microsecond.",
    example: { name: "price", type: "decimal" },
  });
const columns = z.array(column).min(1).max(MAX_COLUMNS);
const key = z
  .array(z.string())
  .max(MAX_KEY_COLUMNS)
  .openapi({
    description:
      "The columns by which an upsert finds the rows that it replaces. They have a value in each row.",
    example: ["order_no"],
  });

export const newDataset = z
  .strictObject({
    name,
    description: description.nullable().default(null),
    visibility: visibility.default("private"),
    columns,
    key: key.default([]),
  })
  .openapi("NewDataset", {
    example: {
      name: "orders",
      columns: [
        { name: "order_no", type: "integer" },
        { name: "customer", type: "text" },
        { name: "price", type: "decimal" },
      ],
      key: ["order_no"],
    },
  });

export const datasetChange = z
  .strictObject({
    name: name.optional(),
    description: description.nullable().optional(),
    visibility: visibility.optional(),
    add_columns: columns.optional().openapi({
      description: "Columns to add. Rows that are there have no value in them.",
    }),
  })
  .openapi("DatasetChange", { example: { add_columns: [{ name: "paid_at", type: "timestamp" }] } });

export const datasetSchema = z
  .object({
    id: z.string(),
    object: z.literal("dataset"),
    name,
    description: description.nullable(),
    owner_id: z.string().nullable().openapi({ description: "Null when the user was deleted." }),
    visibility,
    columns: z.array(column),
    key,
    rows: count,
    version: count.openapi({ description: "Raised by each change of the rows." }),
    created_at: time,
    updated_at: time,
  })
  .openapi("Dataset", {
    example: {
      id: "ds_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "dataset",
      name: "orders",
      description: null,
      owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
      visibility: "private",
      columns: [
        { name: "order_no", type: "integer" },
        { name: "price", type: "decimal" },
      ],
      key: ["order_no"],
      rows: 48_211,
      version: 3,
      created_at: "2026-09-21T13:33:20.000Z",
      updated_at: "2026-09-22T06:00:04.120Z",
    },
  });
export const datasetList = countedList(datasetSchema).openapi("DatasetList");
export const datasetQuery = page(
  { search: search("A part of the name, or the whole id.") },
  byOffset,
);

export const DATASETS = {
  path: "/api/datasets",
  access: "person",
  tokens: "datasets",
  tag: "Datasets",
} as const;
export const DATASET = { ...DATASETS, path: `${DATASETS.path}/{id}` } as const;
export const datasetErrors = {
  403: "The key is restricted or bound to an assistant, or the caller may only read the dataset.",
  404: "There is no such dataset for the caller.",
};
export const errors = { 403: datasetErrors[403] };
