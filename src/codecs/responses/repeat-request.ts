import { type Effort, parseEffort } from "../../core/effort.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";
import { readOwnMetadata } from "../metadata-extension.ts";
import type { ResponsesRequest, WireTextFormat } from "./wire.ts";

interface Chosen {
  readonly tools: readonly JsonObject[];
  readonly toolChoice: JsonValue;
  readonly effort: Effort | undefined;
}

/**
 * The fields of an answer that repeat its question. Clients count on each of them, so that what was not asked has the
 * value that it has at the vendor who made the format.
 */
export function repeatRequest(
  request: ResponsesRequest,
  body: JsonObject,
  { tools, toolChoice, effort }: Chosen,
): JsonObject {
  const { reasoning, user } = request;
  return {
    previous_response_id: null,
    instructions: request.instructions ?? null,
    tools,
    tool_choice: toolChoice,
    truncation: request.truncation === "auto" ? "auto" : "disabled",
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    text: repeatText(request),
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    reasoning: {
      effort: repeatEffort(reasoning?.effort, effort),
      summary: pick(reasoning?.summary, ["auto", "concise", "detailed"]) ?? null,
    },
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    store: false,
    background: false,
    service_tier: "default",
    metadata: readOwnMetadata(body["metadata"]) ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(user != null && { user }),
  };
}

function repeatText({ text }: ResponsesRequest): JsonObject {
  const verbosity = pick(text?.verbosity, ["low", "medium", "high"]);
  return {
    format: repeatFormat(text?.format ?? { type: "text" }),
    ...(verbosity !== undefined && { verbosity }),
  };
}

function repeatFormat(format: WireTextFormat): JsonObject {
  if (format.type !== "json_schema") return { type: format.type };
  const { type, name, schema, strict, description } = format;
  return {
    type,
    name,
    schema: isJsonObject(schema) ? schema : {},
    strict: strict ?? false,
    ...(description != null && { description }),
  };
}

/** The client's own word where it stands for the effort that is in force. */
function repeatEffort(word: string | null | undefined, effort: Effort | undefined): string | null {
  return word != null && parseEffort(word) === effort ? word : (effort ?? null);
}

function pick(word: string | null | undefined, known: readonly string[]): string | undefined {
  return known.find((one) => one === word);
}
