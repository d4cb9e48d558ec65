import type { GenerationParameters, ResponseFormat } from "../../core/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { invalidValue } from "./check-request.ts";
import type { ChatCompletionRequest } from "./wire.ts";

/** Fields with a place of their own in the request, and those that are the gateway's. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "top_k",
  "max_tokens",
  "max_completion_tokens",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "response_format",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "functions",
  "function_call",
  "metadata",
  "ext",
]);

/** What would harm the engine's other users. */
const DENIED_FIELDS: ReadonlySet<string> = new Set([
  "chat_template",
  "n",
  "best_of",
  "priority",
  "cache_salt",
  "request_id",
  "vllm_xargs",
]);

export function parseParameters(
  request: ChatCompletionRequest,
  body: JsonObject,
): GenerationParameters {
  const { stop, response_format: format } = request;
  const responseFormat = format == null ? undefined : parseResponseFormat(format);
  const extra = readExtra(body, format != null && responseFormat === undefined);
  return definedOnly({
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    stop: typeof stop === "string" ? [stop] : stop,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    responseFormat,
    logprobs: request.logprobs,
    topLogprobs: request.top_logprobs,
    extra,
  });
}

type WireFormat = NonNullable<ChatCompletionRequest["response_format"]>;

/** Undefined for a format that only some local engine knows. */
function parseResponseFormat(format: WireFormat): ResponseFormat | undefined {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object":
      // Some engines take a schema here.
      return Object.keys(format).length === 1 ? { type: "json_object" } : undefined;
    case "json_schema":
      return parseJsonSchema(format);
    default:
      return undefined;
  }
}

function parseJsonSchema({ json_schema: given }: WireFormat): ResponseFormat {
  if (given == null) {
    throw invalidValue(["response_format", "json_schema"], "an object", given);
  }
  const { name, schema, strict, description } = given;
  return {
    type: "json_schema",
    name,
    schema: isJsonObject(schema) ? schema : undefined,
    ...(strict != null && { strict }),
    ...(description != null && { description }),
  };
}

/** All further fields, by their own names. */
function readExtra(body: JsonObject, keepsFormat: boolean): JsonObject | undefined {
  const entries = Object.entries(body).filter(([name, value]) => {
    if (value === null || DENIED_FIELDS.has(name)) return false;
    return !OWN_FIELDS.has(name) || (name === "response_format" && keepsFormat);
  });
  const { metadata } = body;
  const rest = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(
    ([name, value]) => name !== "ext" && !(name === "service" && isJsonObject(value)),
  );
  if (rest.length > 0) entries.push(["metadata", Object.fromEntries(rest)]);
  // `fromEntries` makes plain data of a name such as `__proto__`.
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

type Present<Value> = Exclude<Value, null | undefined>;

/** The members that have a value. */
function definedOnly<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Present<Members[Name]> } {
  const present = Object.entries(members).filter(([, value]) => value != null);
  return Object.fromEntries(present) as { [Name in keyof Members]?: Present<Members[Name]> };
}
