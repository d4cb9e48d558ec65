import { z } from "@hono/zod-openapi";
import { CHANNELS } from "../../core/channel.ts";
import type { Deps } from "../../deps.ts";
import { decodeBase64Text, encodeBase64Text } from "../../lib/text/base64-text.ts";
import type { CsvCell } from "../../lib/text/csv.ts";
import { readRequest } from "../../usage/reports/find-request.ts";
import { listRequests } from "../../usage/reports/list-requests.ts";
import { OUTCOMES } from "../../usage/usage-record.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { queryFormat, tableResponse, wantsCsv } from "../answers/table-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { count, queryId, searchText, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { limit, page, readQuery } from "../page.ts";
import { queryTime, readRange } from "../query-range.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const DEFAULT_LIMIT = 50;
const CSV_LIMIT = 1_000;
const PLACE = /^(\d{1,15}) ([\x21-\x7e]{0,200})$/;
/** The last millisecond of a year with four digits. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

/** A position in the list, as clients carry it from one page to the next. */
const place = z.codec(
  z.string().max(400),
  z.object({ startedAt: z.number(), id: z.string() }).readonly(),
  {
    decode(text, { issues }) {
      const [, startedAt, id] = PLACE.exec(decodeBase64Text(text) ?? "") ?? [];
      if (id !== undefined && Number(startedAt) <= MAX_TIME) {
        return { startedAt: Number(startedAt), id };
      }
      issues.push({
        code: "custom",
        message: "what an earlier answer gave as 'next'",
        input: text,
      });
      return z.NEVER;
    },
    encode: ({ startedAt, id }) => encodeBase64Text(`${startedAt} ${id}`),
  },
);

const requestQuery = page(
  {
    from: queryTime.optional(),
    to: queryTime.optional(),
    request_id: queryId.optional(),
    key_id: queryId.optional(),
    user_id: queryId.optional(),
    model: searchText(200).optional(),
    assistant_id: queryId.optional(),
    run_id: queryId.optional(),
    channel: z.enum(CHANNELS).optional(),
    outcome: z.enum(OUTCOMES).optional(),
    status: z.int().min(100).max(599).optional(),
    format: queryFormat.optional(),
  },
  { before: place.optional().openapi({ description: "`next` of an earlier answer." }) },
).extend({
  limit: limit.optional().openapi({
    description: `${DEFAULT_LIMIT} unless given, and ${CSV_LIMIT} as CSV.`,
  }),
});

const meteredRequest = z
  .object({
    object: z.literal("request"),
    id: z.string(),
    started_at: unixTime,
    key_id: z.string(),
    key_name: z.string().nullable().openapi({ description: "Null once the key is deleted." }),
    owner_id: z.string().nullable(),
    owner_name: z.string().nullable(),
    channel: z.enum(CHANNELS),
    model: z.string().openapi({ description: "Empty for a call of a tool by `/mcp`." }),
    outcome: z.enum(OUTCOMES),
    success: z.boolean(),
    status: z.int(),
    input_tokens: count,
    output_tokens: count,
    cached_tokens: count,
    reasoning_tokens: count,
    estimated: z.boolean().openapi({ description: "The vendor did not count." }),
    latency_ms: count,
    first_token_ms: count.nullable(),
    tool_name: z
      .string()
      .nullable()
      .openapi({ description: "The tool that was called by `/mcp`; null for calls of models." }),
    assistant_id: z
      .string()
      .nullable()
      .openapi({ description: "The assistant that answered; null when a model did." }),
    run_id: z.string().nullable().openapi({
      description: "The workflow's run that made the call; null for calls of clients.",
    }),
  })
  .openapi("MeteredRequest");
const COLUMNS = Object.keys(meteredRequest.shape).filter((name) => name !== "object");

const requestList = z
  .object({
    object: z.literal("list"),
    from: unixTime,
    to: unixTime,
    data: z.array(meteredRequest),
    has_more: z.boolean(),
    next: place.nullable().openapi({ description: "`before` of the next page." }),
    searched_from: unixTime.openapi({
      description: "How far back the search went; with `next`, what is earlier is still unknown.",
    }),
  })
  .openapi("MeteredRequestList");

const COLLECTION = {
  path: "/api/requests",
  access: "session",
  tokens: "requests",
  tag: "Usage",
} as const;

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listRequests",
  summary: "List single metered requests",
  description:
    "Without their bodies, which are never kept. Administrators see all, users those of the keys that they own now; a " +
    "row appears about a second after its call has ended. The newest first. `next` of an answer is `before` of the " +
    "next: what arrives meanwhile shifts nothing. A search for what is rare may stop after a moment with fewer rows " +
    "than asked for, or none, and `has_more`: it goes on from `next`.",
  query: requestQuery,
  answer: { description: "A page of the requests.", schema: requestList, hasCsv: true },
});
const FIND = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/{id}`,
  method: "get",
  operationId: "getRequest",
  summary: "Show one metered request",
  answer: { description: "The request.", schema: meteredRequest },
  errors: { 404: "There is no such request, or it is not the caller's to see." },
});

/** `/api/requests`: single metered requests. */
export function requestsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  const { database } = deps.access;
  const reading = { database, clock, retentionDays: deps.settings.USAGE_RETENTION_DAYS };

  router.add(LIST, async (context, caller) => {
    const asked = readQuery(context, requestQuery);
    const isCsv = wantsCsv(context, asked.format);
    const range = readRange(asked, { from: () => 0, to: clock.now() + 1 });
    const { requests, next, ...searched } = await listRequests(reading, caller, {
      ...toRecord(asked),
      from: asked.from === undefined ? undefined : range.from,
      to: asked.to === undefined ? undefined : range.to,
      limit: asked.limit ?? (isCsv ? CSV_LIMIT : DEFAULT_LIMIT),
    });
    const searchedFrom = next?.startedAt ?? searched.from;
    const shown = { ...searched, data: requests, hasMore: next !== null, next, searchedFrom };
    if (!isCsv) return jsonResponse(toJson(requestList, shown));
    return tableResponse(context, {
      name: "requests",
      columns: COLUMNS,
      rows: requests.map((request) => toJson(meteredRequest, request) as Record<string, CsvCell>),
      next: next === null ? null : { before: z.encode(place, next) },
    });
  });

  router.add(FIND, async (context, caller) =>
    jsonResponse(toJson(meteredRequest, await readRequest(reading, caller, idOf(context)))),
  );
  return router;
}
