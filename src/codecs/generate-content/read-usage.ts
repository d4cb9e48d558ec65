import type { Usage } from "../../core/chat-event.ts";
import { isJsonObject } from "../../lib/json.ts";
import { readCount } from "../shared/answer-json.ts";

/** The figures of `usageMetadata`; undefined when it counts nothing. */
export function readUsage(metadata: unknown): Usage | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const prompt = readCount(metadata["promptTokenCount"]);
  const candidates = readCount(metadata["candidatesTokenCount"]);
  const thoughts = readCount(metadata["thoughtsTokenCount"]);
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  return {
    inputTokens: (prompt ?? 0) + (readCount(metadata["toolUsePromptTokenCount"]) ?? 0),
    outputTokens: (candidates ?? 0) + (thoughts ?? 0),
    cachedTokens: readCount(metadata["cachedContentTokenCount"]),
    reasoningTokens: thoughts,
  };
}
