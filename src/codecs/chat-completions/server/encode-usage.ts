import type { Usage } from "../../../core/chat-event.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** The `usage` object. Details that the engine did not tell are left out. */
export function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...((cachedTokens !== undefined || cacheWriteTokens !== undefined) && {
      prompt_tokens_details: {
        cached_tokens: cachedTokens ?? 0,
        cache_write_tokens: cacheWriteTokens,
      },
    }),
    ...(reasoningTokens !== undefined && {
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    }),
  };
}
