import type {
  ChatRequest,
  ResponseFormat,
  ToolChoice,
  ToolDefinition,
} from "../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";
import { withObjectProperties } from "../../lib/json/object-properties.ts";
import type { UpstreamModel } from "../codec.ts";
import { joinOpening } from "../shared/system-messages.ts";
import { buildMessages } from "./build-messages.ts";
import { buildOptions, namesKeptFromEngine, splitExtra } from "./build-options.ts";

const MUST_CALL = "Answer this turn by calling at least one of the offered tools.";
const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/**
 * Builds the body of `POST /api/chat`. Throws a `ServiceError` that names a message part the engine does not accept.
 */
export function buildBody(request: ChatRequest, model: UpstreamModel): string {
  const { parameters } = request;
  const { options: extraOptions, fields: extraFields } = splitExtra(parameters.extra);
  const { response_format: otherFormat, ...fields } = extraFields;
  const options = buildOptions(parameters, model, extraOptions);
  const rest: JsonObject = {
    // By default the engine silently drops the oldest messages of a prompt that is too long.
    truncate: false,
    ...fields,
    stream: request.stream,
    // The same for an answer that exceeds the context. The value is constant, because a change makes the engine reload
    // the model.
    shift: false,
    tools: buildTools(request),
    format: buildFormat(parameters.responseFormat) ?? readFormat(otherFormat) ?? fields["format"],
    options: Object.keys(options).length === 0 ? undefined : options,
    logprobs: parameters.logprobs,
    top_logprobs: parameters.topLogprobs,
  };
  // The messages are inserted as text, because they contain texts that must not be parsed and serialised again.
  const name = JSON.stringify(model.name);
  const messages = buildConversation(request).join(",");
  return `{"model":${name},"messages":[${messages}],${JSON.stringify(rest).slice(1)}`;
}

/** Returns the parameters that the body cannot express, and those that clients may not set. */
export function findUnsaid({ parameters, tools, parallelToolCalls }: ChatRequest): string[] {
  const kept = namesKeptFromEngine(parameters.extra);
  const isLost = tools.length > 0 && parallelToolCalls === false;
  const format = parameters.extra?.["response_format"];
  const isFormatLost = format != null && readFormat(format) === undefined;
  return [
    ...kept,
    ...(isLost ? ["parallel_tool_calls"] : []),
    ...(isFormatLost ? ["response_format"] : []),
  ];
}

/** Builds the tools. The engine has no tool choice, so tools that the model must not call are not sent. */
function buildTools({ tools, toolChoice }: ChatRequest): JsonObject["tools"] {
  const offered = tools.filter(({ name }) => isOffered(name, toolChoice));
  return offered.length === 0 ? undefined : offered.map(buildTool);
}

function isOffered(name: string, choice: ToolChoice | undefined): boolean {
  return choice?.type === "tool" ? name === choice.name : choice?.type !== "none";
}

/** Returns the conversation as JSON texts. A required call can only be requested in the system text. */
function buildConversation({ messages: given, tools, toolChoice }: ChatRequest): string[] {
  const messages = joinOpening(given);
  const isForced = toolChoice?.type === "required" || toolChoice?.type === "tool";
  if (!isForced || tools.length === 0) return buildMessages(messages);
  const [first, ...rest] = messages;
  if (first?.role !== "system") {
    return [JSON.stringify({ role: "system", content: MUST_CALL }), ...buildMessages(messages)];
  }
  const content = [...first.content, { type: "text", text: MUST_CALL } as const];
  return buildMessages([{ ...first, content }, ...rest]);
}

/** Ollama refuses a request in which the schema of a property is `true`. */
function buildTool({ name, description, parameters = NO_ARGUMENTS }: ToolDefinition): JsonObject {
  return {
    type: "function",
    function: { name, description, parameters: withObjectProperties(parameters) },
  };
}

/** Reads the form in which llama.cpp takes a schema, which clients send to any engine; undefined for all others. */
function readFormat(format: JsonValue | undefined): JsonObject["format"] {
  if (!isJsonObject(format) || format["type"] !== "json_object") return undefined;
  const { schema } = format;
  return isJsonObject(schema) ? schema : "json";
}

function buildFormat(format: ResponseFormat | undefined): JsonObject["format"] {
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return "json";
    case "json_schema":
      return format.schema ?? "json";
  }
}
