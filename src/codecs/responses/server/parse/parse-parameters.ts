import type { GenerationParameters, ResponseFormat } from "../../../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../lib/json/json.ts";
import { readOwnMetadata } from "../../../shared/metadata-extension.ts";
import type { ResponsesRequest, WireTextFormat } from "../wire.ts";

/** Fields with their own place in the request, the gateway's own fields, and fields that only this format has. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "top_k",
  "max_output_tokens",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "text",
  "reasoning",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "metadata",
  "ext",
  "background",
  "client_metadata",
  "context_management",
  "conversation",
  "include",
  "max_tool_calls",
  "moderation",
  "previous_response_id",
  "prompt",
  "store",
  "truncation",
]);

export function parseParameters(request: ResponsesRequest, body: JsonObject): GenerationParameters {
  const { stop, top_logprobs, include, text } = request;
  const wantsLogprobs =
    (top_logprobs ?? 0) > 0 || include?.includes("message.output_text.logprobs");
  return {
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    maxOutputTokens: request.max_output_tokens ?? undefined,
    stop: typeof stop === "string" ? [stop] : (stop ?? undefined),
    seed: request.seed ?? undefined,
    presencePenalty: request.presence_penalty ?? undefined,
    frequencyPenalty: request.frequency_penalty ?? undefined,
    responseFormat: text?.format == null ? undefined : parseFormat(text.format),
    logprobs: wantsLogprobs ? true : undefined,
    topLogprobs: wantsLogprobs ? (top_logprobs ?? undefined) : undefined,
    extra: readExtra(body, text?.verbosity),
  };
}

function parseFormat(format: WireTextFormat): ResponseFormat {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, schema, strict, description } = format;
  return {
    type: "json_schema",
    name,
    schema: isJsonObject(schema) ? schema : undefined,
    ...(strict != null && { strict }),
    ...(description != null && { description }),
  };
}

/** Returns all other fields. Except for the verbosity, they have the same names in the chat-completions format. */
function readExtra(body: JsonObject, verbosity: string | null | undefined): JsonObject | undefined {
  const entries: [string, JsonValue | undefined][] = [];
  for (const name in body) {
    const value = body[name];
    if (!OWN_FIELDS.has(name) && value !== null) entries.push([name, value]);
  }
  if (verbosity != null) entries.push(["verbosity", verbosity]);
  const metadata = readOwnMetadata(body["metadata"]);
  if (metadata !== undefined) entries.push(["metadata", metadata]);
  // `fromEntries` turns a name such as `__proto__` into plain data.
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
