import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { givenTime, queryId, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { openList, page, readQuery } from "../page.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const outcome = z.enum(["ok", "error", "refused", "cut", "cancelled"]);

const statementQuery = page(
  {
    principal_id: queryId.optional(),
    outcome: outcome.optional(),
    from: givenTime.optional(),
    to: givenTime.optional(),
  },
  {
    before: queryId
      .optional()
      .openapi({ description: "The id of a line: only those that came before it." }),
  },
);

const statementLine = z
  .object({
    id: z.string(),
    principal_id: z
      .string()
      .openapi({ description: "The BI key, `bik_…`, or the user, `usr_…`, that asked." }),
    via: z.enum(["port", "query", "list"]).openapi({
      description: "The PostgreSQL port, `POST /v1/data/query`, or `GET /v1/data/{name}`.",
    }),
    statement: z.string().openapi({
      description: "Its text, with `?` in the place of values and `$1` of parameters.",
    }),
    started_at: time,
    milliseconds: z.int(),
    rows: z.int(),
    bytes: z.int(),
    outcome: outcome.openapi({
      description:
        "`refused` before it ran, `error` of the database, `cut` by a limit of the key, `cancelled` by the client.",
    }),
    code: z.string().nullable().openapi({ description: "The SQLSTATE of what was not answered." }),
  })
  .openapi("BiStatement", {
    example: {
      id: "bis_3v9QmTq2LxZ8cR5nYb7KdW",
      principal_id: "bik_7hB2kXw9PfM4sVt6JcN1Ra",
      via: "port",
      statement: "SELECT model, sum(requests) FROM usage_by_day WHERE day >= $1 GROUP BY model",
      started_at: "2026-09-21T13:33:20.000Z",
      milliseconds: 12,
      rows: 8,
      bytes: 412,
      outcome: "ok",
      code: null,
    },
  });
const statementList = openList(statementLine).openapi("BiStatementList");

const LIST = resourceRoute({
  path: "/api/admin/bi/statements",
  method: "get",
  access: "administrator",
  tokens: "audit",
  tag: "BI keys",
  operationId: "listBiStatements",
  summary: "List what was asked with BI keys",
  description: "Statements without their values, the newest first, for 30 days.",
  query: statementQuery,
  answer: { description: "A page of the statements.", schema: statementList },
});

/** `/api/admin/bi/statements`: what BI keys and sessions asked of the data, read-only. */
export function biStatementsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(LIST, async (context) => {
    const query = toRecord(readQuery(context, statementQuery));
    const { from, to, limit } = query;
    if (from !== undefined && to !== undefined && to <= from) {
      throw invalidValue(["to"], "a time after 'from'", to.toISOString());
    }
    const found = await deps.data.statements.list(query);
    const data = found.slice(0, limit);
    return jsonResponse(toJson(statementList, { data, hasMore: found.length > limit }));
  });
  return router;
}
