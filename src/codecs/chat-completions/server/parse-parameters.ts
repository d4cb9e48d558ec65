import type { GenerationParameters, ResponseFormat } from "../../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { invalidValue } from "../../shared/check-request.ts";
import { readOwnMetadata } from "../../shared/metadata-extension.ts";
import type { ChatCompletionRequest } from "./wire.ts";

/** Fields with their own place in the request, and the gateway's own fields. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "n",
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

export function parseParameters(
  request: ChatCompletionRequest,
  body: JsonObject,
): GenerationParameters {
  const { stop, response_format: format } = request;
  const responseFormat = format == null ? undefined : parseResponseFormat(format);
  const extra = readExtra(body, format != null && responseFormat === undefined);
  return {
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    maxOutputTokens: readLimit(request),
    stop: typeof stop === "string" ? [stop] : (stop ?? undefined),
    seed: request.seed ?? undefined,
    presencePenalty: request.presence_penalty ?? undefined,
    frequencyPenalty: request.frequency_penalty ?? undefined,
    responseFormat,
    logprobs: request.logprobs ?? undefined,
    topLogprobs: request.top_logprobs ?? undefined,
    extra,
  };
}

/** Returns the engine's limit. An engine cannot read a prompt without answering at least one token. */
function readLimit(request: ChatCompletionRequest): number | undefined {
  const limit = limitOf(request);
  return limit === 0 ? 1 : limit;
}

/** Returns the client's limit on the tokens of the answer. */
export function limitOf({
  max_completion_tokens,
  max_tokens,
}: ChatCompletionRequest): number | undefined {
  return max_completion_tokens ?? max_tokens ?? undefined;
}

type WireFormat = NonNullable<ChatCompletionRequest["response_format"]>;

/** Returns undefined for a format that only some local engine supports. */
function parseResponseFormat(format: WireFormat): ResponseFormat | undefined {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object":
      // Some engines accept a schema here.
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

/** Returns all other fields, by their own names. */
function readExtra(body: JsonObject, keepsFormat: boolean): JsonObject | undefined {
  const entries: [string, JsonValue | undefined][] = [];
  for (const name in body) {
    if (OWN_FIELDS.has(name) && !(name === "response_format" && keepsFormat)) continue;
    const value = body[name];
    if (value !== null) entries.push([name, value]);
  }
  const metadata = readOwnMetadata(body["metadata"]);
  if (metadata !== undefined) entries.push(["metadata", metadata]);
  // `fromEntries` turns a name such as `__proto__` into plain data.
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
