import { isJsonObject, type JsonObject, type JsonValue } from "../../../../lib/json/json.ts";

const utf8 = new TextEncoder();

/** Converts the log probabilities in a delta's extras from the chat-completions format to this format. */
export function encodeLogprobs(extra: JsonObject | undefined): readonly JsonObject[] {
  const logprobs = extra?.["logprobs"];
  const content = isJsonObject(logprobs) ? logprobs["content"] : undefined;
  return isList(content) ? content.filter(isJsonObject).map(encodeToken) : [];
}

function encodeToken(token: JsonObject): JsonObject {
  const { top_logprobs: top } = token;
  return {
    ...encodeChoice(token),
    top_logprobs: isList(top) ? top.filter(isJsonObject).map(encodeChoice) : [],
  };
}

/** Encodes one token. Engines may omit the bytes, which clients expect. */
function encodeChoice({ token, logprob, bytes }: JsonObject): JsonObject {
  const text = typeof token === "string" ? token : "";
  return {
    token: text,
    logprob: typeof logprob === "number" ? logprob : 0,
    bytes: isList(bytes) ? bytes : Array.from(utf8.encode(text)),
  };
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
