import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { findDataset } from "../../data/datasets/change-dataset.ts";
import { DATASET_NAME } from "../../data/datasets/columns.ts";
import type { DatasetRow } from "../../data/datasets/dataset-store.ts";
import { DATASET_CHANGES, type Dataset } from "../../data/datasets/datasets.ts";
import { type Import, importDataset, importRows } from "../../data/datasets/imports/import-rows.ts";
import { TABLE_TYPES, type TableFormat } from "../../data/datasets/imports/table-job.ts";
import type { RowPlace } from "../../data/datasets/read-rows.ts";
import type { Deps } from "../../deps.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { rowStreamResponse } from "../answers/row-stream.ts";
import { toJson } from "../answers/to-json.ts";
import { type BodyStream, readBodyStream } from "../bodies/read-body-stream.ts";
import { receiveFile } from "../bodies/receive-file.ts";
import { createUploadPlaces } from "../bodies/upload-places.ts";
import { DATASET, DATASETS, datasetErrors, datasetSchema } from "../dataset-fields.ts";
import { count, queryId, storableText } from "../fields.ts";
import { refusal } from "../openapi/documentation.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { limit, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const MAX_BYTES = 256 * 1024 * 1024;
/** Files that this server takes at once, and those of one user: each is on the disk while it is read. */
const UPLOADS = { max: 20, maxOfOwner: 4 } as const;
const FOLDER = "dataset-imports";
const DEFAULT_ROWS = 100;

const rowsQuery = z.strictObject({
  format: z.enum(["json", "csv", "ndjson"]).default("json").openapi({
    description:
      "`csv` and `ndjson` stream all rows from `after` on, at most `limit` where it is set.",
  }),
  raw: z
    .enum(["true", "false"])
    .default("false")
    .openapi({
      description:
        "In CSV, a text that a spreadsheet would run as a formula gets a leading apostrophe. `true` gives all texts as " +
        "they are, for an import.",
    }),
  limit: limit.optional(),
  after: queryId.optional().openapi({ description: "`next` of the page before." }),
});
const rowsPage = z
  .object({
    object: z.literal("list"),
    data: z.array(z.record(z.string(), z.unknown())).openapi({
      description: "Rows in their order. Decimals and integers beyond 2^53 are strings.",
    }),
    has_more: z.boolean(),
    next: z.string().nullable().openapi({ description: "`after` of the next page." }),
    version: count,
  })
  .openapi("DatasetRows", {
    example: {
      object: "list",
      data: [{ order_no: 1, price: "12.50" }],
      has_more: false,
      next: null,
      version: 3,
    },
  });
const importQuery = z.strictObject({
  mode: z.enum(DATASET_CHANGES).default("append").openapi({
    description: "`upsert` replaces rows with the same key; within the file, the later row wins.",
  }),
});
const newImportQuery = z.strictObject({
  name: z.string().regex(DATASET_NAME, "a name of a-z, 0-9 and _, a letter first"),
  description: storableText(1_000).optional(),
  visibility: z.enum(["private", "everyone"]).optional(),
  key: z.string().max(400).optional().openapi({
    description: "Names of its key's columns, with commas between them.",
    example: "order_no",
  }),
});
const importResult = z
  .object({
    object: z.literal("dataset_import"),
    rows: count.openapi({ description: "Rows that were read." }),
    dataset: datasetSchema,
  })
  .openapi("DatasetImport");

const ROWS = { ...DATASET, path: `${DATASET.path}/rows` } as const;
const FORMATS =
  "The body is the file itself, up to 256 MiB, and `Content-Type` its format: CSV, NDJSON, a JSON array of objects, or " +
  "XLSX (the first sheet). All rows are written or none; a wrong row is a 400 that names its line and column, and " +
  "`ext.errors` the first hundred wrong rows with `line`, `column` and `message`.";

const CHANGED = "The dataset was changed meanwhile (`changed_meanwhile`); do it again.";

const READ = resourceRoute({
  ...ROWS,
  method: "get",
  operationId: "listDatasetRows",
  summary: "Read the rows of a dataset",
  query: rowsQuery,
  answer: {
    description: "A page of the rows, or all of them.",
    ...{ schema: rowsPage, hasCsv: true, hasNdjson: true },
  },
  errors: { ...datasetErrors, 409: CHANGED },
});
const IMPORT = withFile(
  resourceRoute({
    ...ROWS,
    method: "post",
    operationId: "importDatasetRows",
    summary: "Write rows into a dataset",
    description: `${FORMATS} Headings are the names of its columns; a column without a heading gets no value.`,
    query: importQuery,
    answer: { description: "The dataset as it is now.", schema: importResult },
    errors: { ...datasetErrors, 409: CHANGED },
  }),
);
const CREATE = withFile(
  resourceRoute({
    ...DATASETS,
    path: `${DATASETS.path}/import`,
    method: "post",
    operationId: "importDataset",
    summary: "Create a dataset from a file",
    description: `${FORMATS} The types of its columns follow from all rows.`,
    query: newImportQuery,
    answer: { status: 201, description: "The dataset.", schema: importResult },
    errors: { 403: datasetErrors[403] },
  }),
);

/** `/api/datasets/{id}/rows`: rows of datasets, and files that become them. */
export function datasetRowsRoutes(deps: Deps): Router {
  const { datasets } = deps;
  const router = createRouter(deps);
  const receive = receiver(deps, router);
  router.add(READ, async (context, caller) => {
    const query = readQuery(context, rowsQuery);
    const dataset = await findDataset(datasets.store, caller, idOf(context));
    const place = placeIn(dataset, query.after);
    const { format, limit: size, raw } = query;
    return format === "json"
      ? pageOfRows(deps, dataset, { place, size: size ?? DEFAULT_ROWS })
      : streamOfRows(deps, dataset, { place, format, limit: size, isRaw: raw === "true" });
  });
  router.add(IMPORT, (context, caller) =>
    receive(context, caller, async (given) => {
      const { mode } = readQuery(context, importQuery);
      return importResponse(await importRows(given, { id: idOf(context), mode }), 200);
    }),
  );
  router.add(CREATE, (context, caller) =>
    receive(context, caller, async (given) => {
      const { key = "", ...asked } = readQuery(context, newImportQuery);
      const names = key === "" ? [] : key.split(",").map((name) => name.trim());
      return importResponse(await importDataset(given, { ...asked, key: names }), 201);
    }),
  );
  return router;
}

/** Takes files. They are not counted in BODIES_IN_HAND_MB: only a piece of each is in memory. */
function receiver({ datasets, settings }: Deps, router: Router) {
  const places = createUploadPlaces(UPLOADS);
  const folder = join(settings.DATA_DIR, FOLDER);
  return async (
    context: RequestContext,
    caller: AnyCaller,
    work: (given: Import) => Promise<Response>,
  ): Promise<Response> => {
    let body: BodyStream | undefined;
    let leave: (() => void) | undefined;
    const restore = context.env.allowSilence();
    try {
      leave = places.take(caller.ownerId);
      const format = formatOf(context.req.raw.headers);
      if (format === undefined) throw unknownFormat();
      body = readBodyStream(context.req.raw, { maxBytes: MAX_BYTES }, () => undefined);
      const { path, remove } = await receiveFile(body, folder);
      try {
        const { store, files } = datasets;
        const { signal } = context.req.raw;
        const actor = actorOf(context, caller);
        return await work({ store, files, actor, file: { path, format }, signal });
      } finally {
        await remove();
      }
    } catch (thrown) {
      const response = router.refuse(thrown, context);
      // The rest of a body that was refused unread must not be parsed as the next request.
      if (body?.isRead() !== true) response.headers.set("connection", "close");
      return response;
    } finally {
      leave?.();
      restore();
    }
  };
}

function formatOf(headers: Headers): TableFormat | undefined {
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity")
    return undefined;
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(";", 1);
  const known: Readonly<Record<string, TableFormat>> = TABLE_TYPES;
  return Object.hasOwn(known, type.trim()) ? known[type.trim()] : undefined;
}

function unknownFormat(): ServiceError {
  return new ServiceError(
    "unsupported_media_type",
    `Send the file as it is, with one of these types: ${Object.keys(TABLE_TYPES).join(", ")}.`,
    { param: "Content-Type" },
  );
}

function importResponse(
  { dataset, rows }: { readonly dataset: Dataset; readonly rows: number },
  status: number,
): Response {
  const { columns, key, ...row } = dataset as DatasetRow;
  const record = { rows, dataset: { ...row, columns: [...columns], key: [...key] } };
  return jsonResponse(toJson(importResult, record), status);
}

async function pageOfRows(
  { datasets }: Deps,
  dataset: DatasetRow,
  { place, size }: { readonly place: RowPlace | undefined; readonly size: number },
): Promise<Response> {
  const rows: JsonObject[] = [];
  let next: RowPlace | undefined;
  let hasMore = false;
  const from = { ...(place && { place }), limit: size, signal: new AbortController().signal };
  reading: for await (const batch of datasets.readFrom(dataset, from)) {
    for (const [index, row] of batch.rows.entries()) {
      hasMore = rows.length === size;
      if (hasMore) break reading;
      rows.push(row);
      next = batch.placeOf(index);
    }
  }
  const page = {
    data: rows as Record<string, unknown>[],
    hasMore,
    next: hasMore && next !== undefined ? cursorOf(dataset, next) : null,
    version: dataset.version,
  };
  return jsonResponse(toJson(rowsPage, page));
}

function streamOfRows(
  { datasets }: Deps,
  dataset: DatasetRow,
  asked: {
    readonly place: RowPlace | undefined;
    format: "csv" | "ndjson";
    limit: number | undefined;
    isRaw: boolean;
  },
): Response {
  const { place, format, isRaw, limit: most = Number.POSITIVE_INFINITY } = asked;
  const aborting = new AbortController();
  async function* read(): AsyncGenerator<readonly JsonObject[], void> {
    let left = most;
    const from = { ...(place && { place }), signal: aborting.signal };
    for await (const { rows } of datasets.readFrom(dataset, from)) {
      yield rows.slice(0, left);
      left -= rows.length;
      if (left <= 0) return;
    }
  }
  return rowStreamResponse({
    ...{ format, isRaw, name: dataset.name, columns: dataset.columns, batches: read() },
    onCancel: () => aborting.abort(),
  });
}

/** A cursor belongs to one table: the rows of a replacement have other places. */
function cursorOf({ tableName }: DatasetRow, { load, row }: RowPlace): string {
  return `${tableName.slice(-8)}.${load}.${row}`;
}

function placeIn({ tableName }: DatasetRow, cursor: string | undefined): RowPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, table, load, row] = /^(\w{8})\.(\d{1,10})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (table === undefined) throw invalidValue(["after"], "`next` of a page", cursor);
  if (table === tableName.slice(-8)) return { load: Number(load), row: Number(row) };
  throw new ServiceError(
    "invalid_value",
    "The rows were replaced since the page before; read them from the first page.",
    { param: "after" },
  );
}

/** Adds the body to a route's document. */
function withFile<Route extends ReturnType<typeof resourceRoute>>(route: Route): Route {
  const file = z.string().openapi({ format: "binary" });
  const content = Object.fromEntries(
    Object.keys(TABLE_TYPES).map((type) => [type, { schema: file }]),
  );
  const responses = {
    ...route.responses,
    408: refusal("The body took too long to arrive."),
    413: refusal("The file is larger than 256 MiB."),
    415: refusal("The body's type is none of those."),
    429: refusal("The user sends four files already."),
  };
  return { ...route, responses, request: { ...route.request, body: { required: true, content } } };
}
