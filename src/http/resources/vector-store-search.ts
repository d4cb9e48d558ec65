import { z } from "@hono/zod-openapi";
import { MAX_FILTERS, parseAttributeFilter } from "../../codecs/shared/attribute-filter.ts";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { meterEmbedding } from "../../gateway/meter/meter-embedding.ts";
import { cutQuestion } from "../../knowledge/retrieve/cut-question.ts";
import type { Passage } from "../../knowledge/retrieve/passage.ts";
import { refuseBoundKeyHere } from "../../knowledge/rights.ts";
import { openStoreForSearch, searchQueries } from "../../knowledge/stores/search-stores.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import { toJson } from "../answers/to-json.ts";
import { readCallBody } from "../bodies/read-call-body.ts";
import { storableText } from "../fields.ts";
import { CHAT_ERRORS, refusal } from "../openapi/documentation.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { idOf } from "../request/id-of.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { attributes, FORBIDDEN, NO_STORE, ONE } from "../vector-store-fields.ts";

const MAX_QUERIES = 10;
const MAX_RESULTS = 50;
/** Far more than ten questions and a filter; a conversation's limit would let one body occupy the process. */
const MAX_BODY_BYTES = 1024 * 1024;

// `parseAttributeFilter` reads it.
const filter = z.looseObject({}).openapi("AttributeFilter", {
  type: "object",
  description:
    "A comparison with an attribute (`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin` with `key` and `value`), or " +
    `\`and\` and \`or\` with \`filters\`; at most ${MAX_FILTERS} filters in all.`,
  example: { type: "eq", key: "department", value: "sales" },
});

const query = z.string().min(1);
const search = z
  .strictObject({
    query: z.union([query, z.array(query).min(1).max(MAX_QUERIES)]).openapi({
      description: `A text, or up to ${MAX_QUERIES} whose results are merged. A text of more than 4,000 characters is searched by its beginning and its end.`,
    }),
    filters: filter.nullable().optional(),
    max_num_results: z.int().min(1).max(MAX_RESULTS).default(10),
    ranking_options: z
      .strictObject({
        ranker: storableText(64).optional().openapi({ description: "Accepted and ignored." }),
        score_threshold: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .openapi({ description: "The least score of a result; unset has none." }),
      })
      .nullable()
      .optional(),
    rewrite_query: z
      .boolean()
      .nullable()
      .optional()
      .openapi({ description: "Accepted and ignored." }),
  })
  .openapi("VectorStoreSearch", { example: { query: "How is the filter changed?" } });

const results = z
  .object({
    object: z.literal("vector_store.search_results.page"),
    search_query: z.array(z.string()),
    data: z.array(
      z.object({
        file_id: z.string(),
        filename: z.string(),
        score: z.number().openapi({ description: "The cosine of query and text, 0 to 1." }),
        attributes,
        content: z.array(z.object({ type: z.literal("text"), text: z.string() })),
        ext: z.object({
          page: z.int().nullable(),
          sheet: z.string().nullable(),
          heading: z.string().nullable(),
        }),
      }),
    ),
    ext: z.object({
      min_similarity: z.number().openapi({
        description:
          "RAG_MIN_SIMILARITY: the score from which an answer uses a passage, unless its assistant says another.",
      }),
    }),
    has_more: z.literal(false),
    next_page: z.null(),
  })
  .openapi("VectorStoreSearchResults", {
    example: {
      object: "vector_store.search_results.page",
      search_query: ["How is the filter changed?"],
      data: [
        {
          file_id: "file-3v9QmTq2LxZ8cR5nYb7KdW",
          filename: "manual.pdf",
          score: 0.71,
          attributes: { year: 2026 },
          content: [{ type: "text", text: "Turn the lid to the left and lift the filter out." }],
          ext: { page: 12, sheet: null, heading: "Maintenance" },
        },
      ],
      ext: { min_similarity: 0.35 },
      has_more: false,
      next_page: null,
    },
  });

const route = resourceRoute({
  ...ONE,
  path: `${ONE.path}/search`,
  method: "post",
  operationId: "searchVectorStore",
  summary: "Search a vector store",
  description:
    "By meaning and by words, the best first. Metered and limited as a call for embeddings of the query.",
  body: search,
  answer: { description: "The passages.", schema: results },
});
const SEARCH = {
  ...route,
  channel: "embeddings",
  modelCall: true,
  responses: {
    ...route.responses,
    ...CHAT_ERRORS,
    403: refusal(FORBIDDEN[403]),
    404: refusal(NO_STORE[404]),
  },
} satisfies RouteDefinition<"caller">;

/** `POST /v1/vector_stores/{id}/search`. */
export function vectorStoreSearchRoutes(deps: Deps): Router {
  const { stores } = deps.knowledge;
  const router = createRouter(deps);
  router.add(SEARCH, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const { requestId, arrivedAt: startedAt, line: observer, trace } = context.env;
    const open = openQuietCall(deps, context);
    try {
      const { signal } = open;
      const { channel } = SEARCH;
      const { body } = await readCallBody(deps, context, {
        caller,
        channel,
        open,
        maxBytes: MAX_BODY_BYTES,
      });
      const given = parseRequest(search, body);
      const filter = parseAttributeFilter(given.filters, ["filters"]);
      const queries = [given.query].flat().map(cutQuestion);
      const store = await openStoreForSearch(stores, caller, idOf(context));
      const call = { requestId, caller, channel, startedAt, signal, observer, trace };
      const metered = { model: store.embeddingModel, inputs: queries };
      const { result, limits } = await meterEmbedding(deps.gateway, call, metered, (onEmbedded) =>
        searchQueries(deps.knowledge.search, {
          vectorStoreId: store.id,
          queries,
          limit: given.max_num_results,
          minScore: given.ranking_options?.score_threshold,
          filter,
          onEmbedded,
          signal: toAbortSignal(signal),
        }),
      );
      const page = toJson(results, {
        ...{ searchQuery: queries, data: result.map(shown), nextPage: null },
        ext: { minSimilarity: deps.settings.RAG_MIN_SIMILARITY },
      });
      const said = limits && context.env.errorForm.sayLimits(limits, deps.clock.now());
      const headers = { "content-type": "application/json", ...said };
      return new Response(JSON.stringify(page), { headers });
    } finally {
      open.close();
    }
  });
  return router;
}

function shown({ page, sheet, heading, ...passage }: Passage) {
  return { ...passage, content: [{ text: passage.text }], ext: { page, sheet, heading } };
}
