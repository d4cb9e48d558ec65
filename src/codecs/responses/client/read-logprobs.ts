import { isJsonObject, type JsonObject } from "../../../lib/json.ts";

/** Log probabilities as the extras of a delta, which are in the chat-completion format; undefined when there are none. */
export function readLogprobs(logprobs: unknown): JsonObject | undefined {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return undefined;
  return { logprobs: { content: logprobs.filter(isJsonObject).map(readToken) } };
}

function readToken(token: JsonObject): JsonObject {
  const { top_logprobs: top } = token;
  const choices = Array.isArray(top) ? top.filter(isJsonObject) : [];
  return { bytes: null, ...token, top_logprobs: choices.map((one) => ({ bytes: null, ...one })) };
}
