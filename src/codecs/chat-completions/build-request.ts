import type {
  ChatRequest,
  ResponseFormat,
  ToolChoice,
  ToolDefinition,
} from "../../core/chat-request.ts";
import type { JsonObject, JsonValue } from "../../lib/json.ts";
import type { UpstreamModel } from "../codec.ts";
import { buildMessages } from "./build-messages.ts";

/** The body of `POST /v1/chat/completions`, as text. The client's further fields never win over what the gateway writes. */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  const { parameters, tools } = request;
  // What is undefined is left out by the serialiser.
  const body: JsonObject = {
    ...parameters.extra,
    temperature: parameters.temperature,
    top_p: parameters.topP,
    top_k: parameters.topK,
    max_tokens: parameters.maxOutputTokens,
    stop: parameters.stop,
    seed: parameters.seed,
    presence_penalty: parameters.presencePenalty,
    frequency_penalty: parameters.frequencyPenalty,
    // A format that only some local engine knows is among the further fields.
    response_format: parameters.responseFormat
      ? buildResponseFormat(parameters.responseFormat)
      : parameters.extra?.["response_format"],
    logprobs: parameters.logprobs,
    top_logprobs: parameters.topLogprobs,
    model: model.name,
    messages: buildMessages(request.messages),
    // Some engines refuse an empty list, and a choice without tools to choose from.
    tools: tools.length > 0 ? tools.map(buildTool) : undefined,
    tool_choice:
      tools.length > 0 && request.toolChoice ? buildToolChoice(request.toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? request.parallelToolCalls : undefined,
    stream: request.stream,
    // Usage is measured whether the client wants to see it or not.
    stream_options: request.stream ? { include_usage: true } : undefined,
  };
  return JSON.stringify(body);
}

function buildTool({ name, description, parameters, strict }: ToolDefinition): JsonObject {
  return { type: "function", function: { name, description, parameters, strict } };
}

function buildToolChoice(choice: ToolChoice): JsonValue {
  return choice.type === "tool"
    ? { type: "function", function: { name: choice.name } }
    : choice.type;
}

function buildResponseFormat(format: ResponseFormat): JsonObject {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, strict, description } };
}
