import { z } from "@hono/zod-openapi";
import { readKeyUsage } from "../../access/keys/read-key-usage.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { count, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const sums = {
  requests: count,
  failures: count.openapi({ description: "Calls that were not answered." }),
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count.openapi({ description: "Of the input." }),
  reasoning_tokens: count.openapi({ description: "Of the output." }),
};

const limitUse = z
  .object({
    limit: count,
    used: count,
    reserved: count.openapi({ description: "Held by calls in progress." }),
    remaining: count,
    resets_at: unixTime
      .nullable()
      .openapi({ description: "When all of it is there again; null: never." }),
  })
  .openapi("LimitUse");

const exampleSums = (requests: number) => ({
  requests,
  failures: 0,
  input_tokens: requests * 350,
  output_tokens: requests * 120,
  cached_tokens: requests * 200,
  reasoning_tokens: 0,
});

const keyUsage = z
  .object({
    object: z.literal("api_key.usage"),
    key_id: z.string(),
    totals: z.object(sums).openapi({ description: "Over the life of the key." }),
    by_day: z.array(z.object({ date: z.string().openapi({ format: "date" }), ...sums })).openapi({
      description:
        "Days of UTC in the range, the earliest first; those without a call are left out.",
    }),
    by_model: z
      .array(z.object({ model: z.string(), ...sums }))
      .openapi({ description: "Models in the range, the most called first, 1,000 at most." }),
    limits: z
      .object({
        requests_per_minute: limitUse.optional(),
        requests: limitUse.optional(),
        tokens: limitUse.optional(),
        monthly_tokens: limitUse.optional(),
      })
      .openapi({ description: "Where the key stands, for each limit that it has." }),
  })
  .openapi("ApiKeyUsage", {
    example: {
      object: "api_key.usage",
      key_id: "key_3v9QmTq2LxZ8cR5nYb7KdW",
      totals: exampleSums(412),
      by_day: [{ date: "2026-09-21", ...exampleSums(12) }],
      by_model: [{ model: "qwen3:8b", ...exampleSums(12) }],
      limits: {
        requests_per_minute: {
          limit: 60,
          used: 2,
          reserved: 0,
          remaining: 58,
          resets_at: "2026-09-21T13:34:08.214Z",
        },
      },
    },
  });

const keyUsageQuery = z.strictObject({
  days: z
    .int()
    .min(1)
    .max(400)
    .default(30)
    .openapi({ description: "Days of UTC that `by_day` and `by_model` cover, today included." }),
});

const SHOW = resourceRoute({
  path: "/v1/api-keys/{id}/usage",
  method: "get",
  access: "caller",
  tag: "Keys",
  operationId: "getApiKeyUsage",
  summary: "Show what an API key has used",
  description:
    "Only for the caller's own keys, administrators too. A call is counted a moment after its end.",
  query: keyUsageQuery,
  answer: { description: "Calls and tokens.", schema: keyUsage },
  errors: {
    400: "A parameter is wrong; `param` names it.",
    403: "The key that calls may not be used from this address.",
    404: "There is no such key, or it is not the caller's to see.",
  },
});

/** `/v1/api-keys/{id}/usage`: the usage of a key, and the state of its limits. */
export function apiKeyUsageRoutes(deps: Deps): Router {
  const { access, clock, limits } = deps;
  const reading = { database: access.database, clock, limits };
  const router = createRouter(deps);
  router.add(SHOW, async (context, caller) => {
    const keyId = idOf(context);
    const { days } = readQuery(context, keyUsageQuery);
    const usage = await readKeyUsage(reading, caller, { id: keyId, days });
    return jsonResponse(toJson(keyUsage, { keyId, ...usage }));
  });
  return router;
}
