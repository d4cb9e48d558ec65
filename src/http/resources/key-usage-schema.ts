import { z } from "@hono/zod-openapi";
import type { KeyUsage, UsageSums } from "../../access/keys/read-key-usage.ts";
import type { JsonObject } from "../../lib/json.ts";

const count = z.int().min(0);

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
    reserved: count.openapi({ description: "Held by calls under way." }),
    remaining: count,
    resets_at: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "When all of it is there again; null: never." }),
  })
  .openapi("LimitUse");

/** What a key has used, as it is shown. */
export const keyUsageSchema = z
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
        requests_per_minute: limitUse,
        requests: limitUse,
        tokens: limitUse,
        monthly_tokens: limitUse,
      })
      .partial()
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

function exampleSums(requests: number) {
  return {
    requests,
    failures: 0,
    input_tokens: requests * 350,
    output_tokens: requests * 120,
    cached_tokens: requests * 200,
    reasoning_tokens: 0,
  };
}

/** What a key has used, as JSON. */
export function keyUsageJson(keyId: string, usage: KeyUsage): JsonObject {
  return {
    object: "api_key.usage",
    key_id: keyId,
    totals: sumsJson(usage.totals),
    by_day: usage.byDay.map((day) => ({ date: day.date, ...sumsJson(day) })),
    by_model: usage.byModel.map((of) => ({ model: of.model, ...sumsJson(of) })),
    limits: {
      requests_per_minute: limitJson(usage.limits.requestsPerMinute),
      requests: limitJson(usage.limits.requests),
      tokens: limitJson(usage.limits.tokens),
      monthly_tokens: limitJson(usage.limits.monthlyTokens),
    },
  };
}

function sumsJson(sums: UsageSums): JsonObject {
  return {
    requests: sums.requests,
    failures: sums.failures,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    cached_tokens: sums.cachedTokens,
    reasoning_tokens: sums.reasoningTokens,
  };
}

function limitJson(use: KeyUsage["limits"]["requests"]): JsonObject | undefined {
  return (
    use && {
      limit: use.limit,
      used: use.used,
      reserved: use.reserved,
      remaining: use.remaining,
      resets_at: use.resetsAt === null ? null : new Date(use.resetsAt).toISOString(),
    }
  );
}
