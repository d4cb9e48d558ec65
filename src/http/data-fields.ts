import { z } from "@hono/zod-openapi";
import { DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS } from "../data/queries/list-query.ts";
import type { SchemaView as View, ViewColumnType } from "../data/views/data-view.ts";
import { keepLargeNumbers } from "../lib/json/exact-json.ts";
import { count, storableText, unixTime } from "./fields.ts";

const MAX_SQL_CHARACTERS = 128 * 1024;
const MAX_PARAMS = 1_000;
/** The statement, and parameters that may be longer than it. */
export const QUERY_LIMITS = {
  maxBytes: 1024 * 1024,
  maxDepth: 4,
  isFixed: true,
  rewrite: keepLargeNumbers,
} as const;

const FORMAT =
  "Without it `Accept` decides: `text/csv`, `application/x-ndjson`, or JSON. CSV and NDJSON stream all rows up to the " +
  'key\'s `row_limit`. An answer that is cut ends with a line that says why (`# error …`, or `{"error": …}`) and ' +
  "without the end of its body.";
const format = z.enum(["json", "csv", "ndjson"]).optional().openapi({ description: FORMAT });
const spreadsheet = z.enum(["0", "1"]).optional().openapi({
  description:
    "`1`: in CSV, a text that a spreadsheet would run as a formula gets a leading apostrophe.",
});
const column = z.object({ name: z.string(), type: z.string() });

const viewSchema = z.object({
  name: z.string(),
  comment: z.string().nullable(),
  columns: z.array(column.extend({ comment: z.string().nullable() })),
  key: z.array(z.string()).openapi({ description: "The columns that identify a row, if any do." }),
  rows: count.openapi({ description: "An estimate for large tables." }),
  updated_at: unixTime.nullable(),
});
export const viewList = z
  .object({ object: z.literal("list"), data: z.array(viewSchema) })
  .openapi("DataTables", {
    example: {
      object: "list",
      data: [
        {
          name: "orders",
          comment: null,
          columns: [{ name: "order_no", type: "bigint", comment: null }],
          key: ["order_no"],
          rows: 48_211,
          updated_at: "2026-09-22T06:00:04.120Z",
        },
      ],
    },
  });

const pageEnd = {
  has_more: z.boolean(),
  next: z.string().nullable().openapi({
    description:
      "`after` of the next page. Null at the end, and where values of the order are too long for it.",
  }),
  as_of: z.string().openapi({ format: "date-time", description: "The time of the data." }),
};
export const rowsSchema = z
  .object({
    columns: z.array(column),
    data: z.array(z.record(z.string(), z.unknown())).openapi({
      description:
        "Rows by the names of their columns. Decimals and integers beyond 2^53 are strings, times are UTC. A name that a " +
        "statement gives twice gets a number: `id`, `id_2`.",
    }),
    ...pageEnd,
  })
  .openapi("DataRows", {
    example: {
      columns: [{ name: "order_no", type: "bigint" }],
      data: [{ order_no: 1 }],
      has_more: false,
      next: null,
      as_of: "2026-11-23T14:05:00.000Z",
    },
  });

const listParameters = {
  select: z.string().optional().openapi({
    description:
      "Columns with commas between them; with `group` also `sum|avg|min|max|count(column)` and `count(*)`.",
    example: "day,sum(output_tokens)",
  }),
  group: z
    .string()
    .optional()
    .openapi({ description: "The columns that a group of rows has in common." }),
  order: z.string().optional().openapi({
    description:
      "Columns of the order; a minus turns one round. Nulls are last, or first where it is turned round.",
    example: "-day,key_id",
  }),
  limit: z
    .int()
    .min(1)
    .optional()
    .openapi({
      description: `Rows of a page: ${DEFAULT_PAGE_ROWS} unless set, at most ${MAX_PAGE_ROWS}. CSV and NDJSON have no such bound.`,
    }),
  after: z.string().optional().openapi({
    description: "`next` of the page before, with the same order, group and conditions.",
  }),
  format,
  spreadsheet,
};
/** The parameters of any table; its columns are further ones. */
export const listQuery = z.object(listParameters);

const CONDITION =
  "Condition: `eq. ne. lt. lte. gt. gte. in.(a,b) like. ilike. is.null`; several are joined by and.";
const EXAMPLES: Readonly<Record<ViewColumnType, z.ZodType>> = {
  text: z.string(),
  integer: z.int(),
  bigint: z.union([z.int(), z.string()]),
  numeric: z.string(),
  "double precision": z.union([z.number(), z.string()]),
  boolean: z.boolean(),
  date: z.string().openapi({ format: "date" }),
  "timestamp with time zone": z.string().openapi({ format: "date-time" }),
  jsonb: z.unknown(),
};

/** The parameters of one table, its columns as conditions. */
export function queryOf({ columns }: Omit<View, "dataset">) {
  const conditions = columns.map(({ name, comment, type }) => {
    const parameter = Object.hasOwn(listParameters, name) ? `filter.${name}` : name;
    const description = `${comment ?? type} ${CONDITION}`;
    return [parameter, z.string().optional().openapi({ description })] as const;
  });
  return z.object({ ...listParameters, ...Object.fromEntries(conditions) });
}

/** A page of one table. */
export function rowsOf({ name, columns }: Omit<View, "dataset">) {
  const fields = columns.map((known) => {
    const field = known.nullable ? EXAMPLES[known.type].nullable() : EXAMPLES[known.type];
    const description = known.comment;
    return [known.name, description === null ? field : field.openapi({ description })] as const;
  });
  const row = z.object(Object.fromEntries(fields)).partial();
  return z
    .object({ columns: z.array(column), data: z.array(row), ...pageEnd })
    .openapi(`Data_${name}`);
}

export const statement = z
  .strictObject({
    sql: storableText(MAX_SQL_CHARACTERS).openapi({
      description: "One statement that only reads: SELECT, VALUES, TABLE, WITH, EXPLAIN or SHOW.",
    }),
    params: z
      .array(z.union([storableText(QUERY_LIMITS.maxBytes), z.number(), z.boolean(), z.null()]))
      .max(MAX_PARAMS)
      .default([])
      .openapi({
        description:
          "The values of `$1` and so on. Integers keep all their digits; send long decimals as strings.",
      }),
    max_rows: z
      .int()
      .min(1)
      .optional()
      .openapi({
        description: `Rows to answer with. JSON has ${DEFAULT_PAGE_ROWS} unless set, at most ${MAX_PAGE_ROWS}.`,
      }),
  })
  .openapi("DataQuery", {
    example: {
      sql: "select day, sum(output_tokens) from usage_by_day where day >= $1 group by day",
      params: ["2026-11-01"],
    },
  });
export const statementQuery = z.strictObject({ format, spreadsheet });
