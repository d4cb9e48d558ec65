import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { createModelFigures } from "../../usage/reports/model-figures.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { count, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const MAX_HOURS = 168;

const milliseconds = (description: string) => count.nullable().openapi({ description });
const figuresQuery = z.strictObject({
  hours: z
    .int()
    .min(1)
    .max(MAX_HOURS)
    .default(24)
    .openapi({ description: "From the beginning of the hour so many hours ago." }),
});

const modelFigures = z
  .object({
    model: z.string(),
    requests: count,
    failures: count.openapi({ description: "Requests that no answer came to." }),
    input_tokens: count,
    output_tokens: count,
    sampled: count.openapi({
      description: "The answered ones of the newest 1,000 calls, from which the times are.",
    }),
    latency_ms_p50: milliseconds("Of whole answers; null without any."),
    latency_ms_p95: milliseconds("Of whole answers; null without any."),
    first_token_ms_p50: milliseconds("Until the first token; null without any."),
    first_token_ms_p95: milliseconds("Until the first token; null without any."),
    tokens_per_second: z.number().min(0).nullable().openapi({
      description: "Median over streamed answers, from their first token on; null without any.",
    }),
  })
  .openapi("ModelFigures", {
    example: {
      model: "qwen3:latest",
      requests: 1_240,
      failures: 3,
      input_tokens: 812_400,
      output_tokens: 204_100,
      sampled: 997,
      latency_ms_p50: 2_140,
      latency_ms_p95: 6_020,
      first_token_ms_p50: 180,
      first_token_ms_p95: 640,
      tokens_per_second: 58.4,
    },
  });
const modelFiguresList = z
  .object({
    object: z.literal("list"),
    from: unixTime.openapi({ description: "The figures are of calls since then." }),
    data: z.array(modelFigures),
  })
  .openapi("ModelFiguresList");

const LIST = resourceRoute({
  path: "/api/models/figures",
  method: "get",
  access: "session",
  tokens: "closed",
  tag: "Models",
  operationId: "listModelFigures",
  summary: "Show how the models have answered",
  description:
    "Over all keys, for every user, without telling whose calls they were. The models with the most calls, up to 100; " +
    "calls by session are not counted. An answer is up to ten seconds old.",
  query: figuresQuery,
  answer: { description: "The figures by model, the most called first.", schema: modelFiguresList },
});

/** `GET /api/models/figures`. */
export function modelFiguresRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const read = createModelFigures(deps.access);
  router.add(LIST, async (context) => {
    const { hours } = readQuery(context, figuresQuery);
    const { from, figures } = await read(hours);
    return jsonResponse(toJson(modelFiguresList, { from, data: figures }));
  });
  return router;
}
