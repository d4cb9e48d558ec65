import type {
  ChatRequest,
  GenerationParameters,
  ResponseFormat,
  ToolChoice,
  ToolDefinition,
} from "../../../core/chat/chat-request.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { UpstreamModel } from "../../codec.ts";
import { buildInput } from "./build-input.ts";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/**
 * Builds the body of `POST /v1/responses`, as text. The client's extra fields never override what the gateway writes.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  const { parameters, tools, toolChoice } = request;
  const { verbosity, ...extra } = parameters.extra ?? {};
  const hasTools = tools.length > 0;
  // The serialiser omits undefined members.
  const body: JsonObject = {
    ...extra,
    temperature: parameters.temperature,
    top_p: parameters.topP,
    top_logprobs: parameters.topLogprobs,
    max_output_tokens: parameters.maxOutputTokens,
    text: buildText(parameters.responseFormat, verbosity),
    model: model.name,
    input: buildInput(request.messages),
    tools: hasTools ? tools.map(buildTool) : undefined,
    tool_choice: hasTools && toolChoice ? buildToolChoice(toolChoice) : undefined,
    parallel_tool_calls: hasTools ? request.parallelToolCalls : undefined,
    // The vendor stores nothing of a conversation. Its reasoning is returned sealed instead, to be sent back.
    store: false,
    include: buildInclude(parameters),
    stream: request.stream,
  };
  return JSON.stringify(body);
}

function buildInclude({ logprobs }: GenerationParameters): JsonValue {
  const sealed = "reasoning.encrypted_content";
  return logprobs === true ? [sealed, "message.output_text.logprobs"] : [sealed];
}

/** Builds a tool. In this format a tool is strict unless `strict` is false. */
function buildTool({ name, description, parameters, strict }: ToolDefinition): JsonObject {
  return {
    type: "function",
    name,
    description,
    parameters: parameters ?? NO_ARGUMENTS,
    strict: strict ?? false,
  };
}

function buildToolChoice(choice: ToolChoice): JsonValue {
  return choice.type === "tool" ? { type: "function", name: choice.name } : choice.type;
}

function buildText(
  format: ResponseFormat | undefined,
  verbosity: JsonValue | undefined,
): JsonObject | undefined {
  if (format === undefined && verbosity === undefined) return undefined;
  return { format: format && buildFormat(format), verbosity };
}

function buildFormat(format: ResponseFormat): JsonObject {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", name, schema: schema ?? {}, strict, description };
}
