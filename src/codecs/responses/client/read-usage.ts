import type { Usage } from "../../../core/chat-event.ts";
import { isJsonObject } from "../../../lib/json.ts";

/** The figures of a response's `usage`; undefined when it has none. */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = readCount(usage, "input_tokens");
  const output = readCount(usage, "output_tokens");
  if (input === undefined && output === undefined) return undefined;
  const { input_tokens_details: ofInput, output_tokens_details: ofOutput } = usage;
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cachedTokens: readCount(ofInput, "cached_tokens"),
    cacheWriteTokens: readCount(ofInput, "cache_write_tokens"),
    reasoningTokens: readCount(ofOutput, "reasoning_tokens"),
  };
}

function readCount(counts: unknown, name: string): number | undefined {
  const value = isJsonObject(counts) ? counts[name] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
