import type { DataCaller } from "../../core/callers/caller.ts";
import {
  admitted,
  type Format,
  listData,
  readList,
  readStatement,
} from "../../data/queries/read-data.ts";
import type { DataAnswer } from "../../data/queries/relay-read.ts";
import type { SchemaView as View } from "../../data/views/data-view.ts";
import { BUILT_IN_VIEWS } from "../../data/views/registry.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { relayedResponse } from "../answers/relayed-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import {
  listQuery,
  QUERY_LIMITS,
  queryOf,
  rowsOf,
  rowsSchema,
  statement,
  statementQuery,
  viewList,
} from "../data-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const DATA = { path: "/v1/data", access: "data", tag: "Data" } as const;
const errors = {
  400: "A parameter or the statement is wrong; `param` names it, `ext.sqlstate` is the database's code.",
  429: "The key has as many reads in progress as it may have; `Retry-After` tells how long to wait.",
  504: "The statement took longer than the key's `timeout_seconds`.",
};
const errorsOfOne = { ...errors, 404: "There is no such table for the key." };
const ROWS = {
  description: "A page of the rows, or all of them.",
  hasCsv: true,
  hasNdjson: true,
} as const;

const LIST = resourceRoute({
  ...DATA,
  method: "get",
  operationId: "listDataTables",
  summary: "List the tables that the key may read",
  description: "With their columns.",
  answer: { description: "The tables.", schema: viewList },
});
const READ = resourceRoute({
  ...DATA,
  path: `${DATA.path}/{name}`,
  method: "get",
  operationId: "readDataTable",
  summary: "Read rows of a table",
  description:
    "Any column is a parameter too: `day=gte.2026-01-01`. Repeat it for several conditions, and write `filter.limit=eq.3` " +
    "for a column with the name of another parameter. Rows come page by page as JSON, or all as CSV or NDJSON, which " +
    "have no order unless `order` names one.",
  query: listQuery,
  answer: { ...ROWS, schema: rowsSchema },
  errors: errorsOfOne,
});
const QUERY = resourceRoute({
  ...DATA,
  path: `${DATA.path}/query`,
  method: "post",
  operationId: "queryData",
  summary: "Run an SQL statement that reads",
  description:
    "In PostgreSQL's SQL, over the tables that the key may read, which information_schema lists; the catalogs of " +
    "PostgreSQL are refused. It has no pages: `has_more` tells that there were more rows than `max_rows`.",
  query: statementQuery,
  body: statement,
  answer: { ...ROWS, schema: rowsSchema },
  errors,
});

function routeOf(view: Omit<View, "dataset">) {
  const { name, comment } = view;
  const words = name.split("_").map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`);
  return resourceRoute({
    ...DATA,
    path: `${DATA.path}/${name}`,
    method: "get",
    operationId: `readData${words.join("")}`,
    summary: `Read ${name}`,
    ...(comment !== null && { description: comment }),
    query: queryOf(view),
    answer: { ...ROWS, schema: rowsOf(view) },
    errors: errorsOfOne,
  });
}

/** `/v1/data`: what BI keys and users may read, as rows. */
export function dataRoutes(deps: Deps): Router {
  const { reads, ofCaller, ofReader } = deps.data;
  const router = createRouter(deps);
  const list = async (context: RequestContext, caller: DataCaller, name: string) => {
    const admission = admitted(await ofReader(caller));
    const parameters = new URL(context.req.url).searchParams;
    const asked = { name, parameters, accepted: acceptedFormat(context) };
    return relay(context, name, (signal) => readList(reads, admission, asked, signal));
  };
  router.add(LIST, async (_context, caller) => {
    const { principal } = admitted(await ofReader(caller));
    const views = await listData(reads, principal);
    const data = views.map(({ columns, key, ...view }) => ({
      ...{ ...view, key: [...key] },
      columns: columns.map(({ name, type, comment }) => ({ name, type, comment })),
    }));
    return jsonResponse(toJson(viewList, { data }));
  });
  for (const view of BUILT_IN_VIEWS) {
    router.add(routeOf(view), (context, caller) => list(context, caller, view.name));
  }
  router.add(READ, (context, caller) => list(context, caller, context.req.param("name") ?? ""));
  router.add(QUERY, async (context, caller) => {
    const { format, spreadsheet } = readQuery(context, statementQuery);
    const admission = admitted(await ofCaller(caller));
    const { sql, params, max_rows } = await readCheckedBody(context, statement, QUERY_LIMITS);
    const asked = {
      ...{ sql, values: params.map((value) => (value === null ? null : String(value))) },
      ...{ maxRows: max_rows ?? null, spreadsheet: spreadsheet === "1" },
      format: format ?? acceptedFormat(context),
    };
    return relay(context, "query", (signal) => readStatement(reads, admission, asked, signal));
  });
  return router;
}

async function relay(
  context: RequestContext,
  name: string,
  read: (signal: AbortSignal) => Promise<DataAnswer>,
): Promise<Response> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([context.req.raw.signal, leaving.signal]);
  // A statement may compute for longer than connections may be quiet.
  const restore = context.env.allowSilence();
  try {
    const { format, contentType, asOf, body } = await read(signal);
    const headers = {
      "content-type": contentType,
      "cache-control": "private, no-store",
      "x-data-as-of": new Date(asOf).toISOString(),
      ...(format !== "json" && {
        "content-disposition": `attachment; filename="${name}.${format}"`,
      }),
    };
    if (context.req.method === "HEAD") {
      // Nobody reads this body, so nothing else would end its reading.
      leaving.abort();
      restore();
      return new Response(null, { headers });
    }
    return relayedResponse(body, { headers, onCancel: () => leaving.abort(), onEnd: restore });
  } catch (thrown) {
    restore();
    throw thrown;
  }
}

const ACCEPTED: Readonly<Record<string, Format>> = {
  "application/json": "json",
  "application/*": "json",
  "*/*": "json",
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
};

/** The format that the client wants most, the first of equals; JSON where it names none that there is. */
function acceptedFormat({ req }: RequestContext): Format {
  let found: { readonly format: Format; readonly weight: number } | undefined;
  for (const text of (req.header("accept") ?? "").toLowerCase().split(",")) {
    const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
    const format = Object.hasOwn(ACCEPTED, type) ? ACCEPTED[type] : undefined;
    const given = parameters.find((parameter) => parameter.startsWith("q="));
    const weight = given === undefined ? 1 : Number(given.slice("q=".length));
    if (format !== undefined && weight > (found?.weight ?? 0)) found = { format, weight };
  }
  return found?.format ?? "json";
}
