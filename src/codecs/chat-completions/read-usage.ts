import type { Usage } from "../../core/chat-event.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";

/** The figures of a `usage` object; undefined when there is none or it counts nothing. */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens, prompt_cache_hit_tokens } = usage;
  const prompt = readCount(prompt_tokens);
  const completion = readCount(completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;

  const inputTokens = prompt ?? 0;
  // Some vendors leave reasoning out of the completion's tokens; the total has it.
  const outputTokens = Math.max(completion ?? 0, (readCount(total_tokens) ?? 0) - inputTokens);
  const { cached_tokens, cache_write_tokens } = details(usage, "prompt_tokens_details");
  const { reasoning_tokens } = details(usage, "completion_tokens_details");
  return {
    inputTokens,
    outputTokens,
    cachedTokens: readCount(cached_tokens) ?? readCount(prompt_cache_hit_tokens),
    cacheWriteTokens: readCount(cache_write_tokens),
    reasoningTokens: readCount(reasoning_tokens),
  };
}

function details(usage: JsonObject, name: string): JsonObject {
  const value = usage[name];
  return isJsonObject(value) ? value : {};
}

function readCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
