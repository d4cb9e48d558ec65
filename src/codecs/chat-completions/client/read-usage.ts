import type { Usage } from "../../../core/chat/usage.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";

/** Reads a `usage` object; returns undefined when there is none or it has no counts. */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  const prompt = readCount(prompt_tokens);
  const completion = readCount(completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;

  const inputTokens = prompt ?? 0;
  // Some vendors do not count reasoning in `completion_tokens`; `total_tokens` includes it.
  const outputTokens = Math.max(completion ?? 0, (readCount(total_tokens) ?? 0) - inputTokens);
  const { cache_write_tokens } = details(usage, "prompt_tokens_details");
  const { reasoning_tokens } = details(usage, "completion_tokens_details");
  return {
    inputTokens,
    outputTokens,
    cachedTokens: readCached(usage),
    cacheWriteTokens: readCount(cache_write_tokens),
    reasoningTokens: readCount(reasoning_tokens),
  };
}

/** Reads the cached tokens under any of the vendors' names. */
function readCached(usage: JsonObject): number | undefined {
  const { prompt_cache_hit_tokens, num_cached_tokens, cached_tokens: flat } = usage;
  const { cached_tokens } = details(usage, "prompt_tokens_details");
  return [cached_tokens, prompt_cache_hit_tokens, num_cached_tokens, flat]
    .map(readCount)
    .find((count) => count !== undefined);
}

function details(usage: JsonObject, name: string): JsonObject {
  const value = usage[name];
  return isJsonObject(value) ? value : {};
}

function readCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
