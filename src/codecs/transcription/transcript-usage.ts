import type { Usage } from "../../core/chat/usage.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";

/** Reads the tokens of a `usage` object; returns undefined when it reports a duration, or nothing. */
export function readTranscriptUsage(usage: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { input_tokens, output_tokens } = usage;
  if (!isCount(input_tokens) || !isCount(output_tokens)) return undefined;
  return { inputTokens: input_tokens, outputTokens: output_tokens };
}

/** Converts the usage of a vLLM stream to OpenAI's form; returns undefined when there is none. */
export function toTokenUsage(usage: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens, completion_tokens } = usage;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return undefined;
  return {
    type: "tokens",
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
  };
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
