import { type Effort, parseEffort } from "../../../core/chat/effort.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { readOwnMetadata } from "../../shared/metadata-extension.ts";
import type { ResponsesRequest, WireTextFormat } from "./wire.ts";

interface Chosen {
  readonly tools: readonly JsonObject[];
  readonly toolChoice: JsonValue;
  readonly effort: Effort | undefined;
  /** The answer is stored. */
  readonly isStored: boolean;
}

/**
 * Builds the fields of an answer that repeat the request. Clients expect each of them, so an unset field has OpenAI's
 * default.
 */
export function repeatRequest(
  request: ResponsesRequest,
  body: JsonObject,
  { tools, toolChoice, effort, isStored }: Chosen,
): JsonObject {
  const { user } = request;
  return {
    previous_response_id: request.previous_response_id || null,
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
    reasoning: repeatReasoning(request, effort),
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    store: isStored,
    background: false,
    service_tier: "default",
    metadata: readOwnMetadata(body["metadata"]) ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(user != null && { user }),
  };
}

/** The values of the fields when they repeat nothing. */
const UNREPEATED: Readonly<Record<string, JsonValue | undefined>> = {
  tools: [],
  tool_choice: "auto",
  truncation: "disabled",
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  max_output_tokens: null,
  max_tool_calls: null,
  safety_identifier: null,
  prompt_cache_key: null,
  user: undefined,
};
const UNREPEATED_MEMBERS: Readonly<Record<string, readonly [string, JsonObject]>> = {
  "text.format": ["text", { format: { type: "text" } }],
  "text.verbosity": ["text", { verbosity: undefined }],
  "reasoning.effort": ["reasoning", { effort: null }],
};

/** Resets ignored parameters to their defaults, because a repeated value must be one that took effect. */
export function withoutIgnored(repeated: JsonObject, ignored: readonly string[] = []): JsonObject {
  let kept = repeated;
  for (const name of ignored) {
    if (Object.hasOwn(UNREPEATED, name)) kept = { ...kept, [name]: UNREPEATED[name] };
    const [outer = "", member] = UNREPEATED_MEMBERS[name] ?? [];
    const held = kept[outer];
    if (isJsonObject(held)) kept = { ...kept, [outer]: { ...held, ...member } };
  }
  return kept;
}

function repeatReasoning({ reasoning }: ResponsesRequest, effort: Effort | undefined): JsonObject {
  return {
    effort: repeatEffort(reasoning?.effort, effort),
    summary: pick(reasoning?.summary, ["auto", "concise", "detailed"]) ?? null,
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
    description: description ?? null,
  };
}

/** Returns the client's own word if it stands for the effort in force. */
function repeatEffort(word: string | null | undefined, effort: Effort | undefined): string | null {
  if (effort === undefined) return null;
  return word != null && parseEffort(word) === effort ? word : effort;
}

function pick(word: string | null | undefined, known: readonly string[]): string | undefined {
  return known.find((one) => one === word);
}
