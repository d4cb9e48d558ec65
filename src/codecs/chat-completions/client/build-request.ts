import type {
  ChatRequest,
  ResponseFormat,
  ToolChoice,
  ToolDefinition,
} from "../../../core/chat/chat-request.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { UpstreamModel } from "../../codec.ts";
import { buildMessages } from "./build-messages.ts";
import type { Dialect } from "./dialect.ts";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/**
 * Builds the body of `POST /v1/chat/completions`, as text. The client's extra fields never override what the gateway
 * writes.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel, dialect: Dialect): string {
  const { parameters } = request;
  // The serialiser omits undefined members.
  const body: JsonObject = {
    ...parameters.extra,
    temperature: parameters.temperature,
    top_p: parameters.topP,
    top_k: parameters.topK,
    max_tokens: parameters.maxOutputTokens,
    stop: parameters.stop,
    [dialect.seedField]: parameters.seed ?? parameters.extra?.[dialect.seedField],
    presence_penalty: parameters.presencePenalty,
    frequency_penalty: parameters.frequencyPenalty,
    // A format that only some local engine supports is among the extra fields.
    response_format: parameters.responseFormat
      ? buildResponseFormat(parameters.responseFormat)
      : parameters.extra?.["response_format"],
    logprobs: parameters.logprobs,
    top_logprobs: parameters.topLogprobs,
    model: model.name,
    messages: buildMessages(request.messages, dialect),
    ...buildTools(request, dialect),
    stream: request.stream,
    // Usage is metered whether or not the client wants to see it.
    stream_options:
      request.stream && dialect.takesStreamOptions ? { include_usage: true } : undefined,
  };
  return JSON.stringify(body);
}

/** Builds the tool fields. Some engines refuse an empty list of tools, and a tool choice without tools. */
function buildTools(
  { tools, toolChoice, parallelToolCalls }: ChatRequest,
  dialect: Dialect,
): JsonObject {
  const areThere = tools.length > 0;
  return {
    tools: areThere ? tools.map((tool) => buildTool(tool, dialect)) : undefined,
    tool_choice: areThere && toolChoice ? buildToolChoice(toolChoice, dialect) : undefined,
    parallel_tool_calls: areThere && dialect.takesParallelToolCalls ? parallelToolCalls : undefined,
  };
}

function buildTool(
  { name, description, parameters, strict }: ToolDefinition,
  { needsToolParameters }: Dialect,
): JsonObject {
  const schema = parameters ?? (needsToolParameters ? NO_ARGUMENTS : undefined);
  return { type: "function", function: { name, description, parameters: schema, strict } };
}

function buildToolChoice(choice: ToolChoice, { anyTool }: Dialect): JsonValue {
  switch (choice.type) {
    case "tool":
      return { type: "function", function: { name: choice.name } };
    case "required":
      return anyTool;
    case "auto":
    case "none":
      return choice.type;
  }
}

function buildResponseFormat(format: ResponseFormat): JsonObject {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, strict, description } };
}
