import type { ChatRequest, ResponseFormat, ToolDefinition } from "../../core/chat-request.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { UpstreamModel } from "../codec.ts";
import { buildMessages } from "./build-messages.ts";
import { buildOptions, splitExtra } from "./build-options.ts";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** The body of `POST /api/chat`. Throws a `ServiceError` that names the message part the engine cannot take. */
export function buildBody(request: ChatRequest, model: UpstreamModel): string {
  const { parameters } = request;
  const { options: extraOptions, fields } = splitExtra(parameters.extra);
  const { format } = fields;
  const options = buildOptions(parameters, model, extraOptions);
  const rest: JsonObject = {
    // Left to itself the engine drops the oldest messages of a prompt that is too long, without a word.
    truncate: false,
    ...fields,
    stream: request.stream,
    // Likewise for an answer that outgrows the context. Always the same value: a change makes the engine load anew.
    shift: false,
    tools: buildTools(request),
    format: buildFormat(parameters.responseFormat) ?? format,
    options: Object.keys(options).length === 0 ? undefined : options,
    logprobs: parameters.logprobs,
    top_logprobs: parameters.topLogprobs,
  };
  // The messages are spliced in as text because they hold texts that must not be parsed and written again.
  const name = JSON.stringify(model.name);
  const messages = buildMessages(request.messages).join(",");
  return `{"model":${name},"messages":[${messages}],${JSON.stringify(rest).slice(1)}`;
}

/** The engine knows no tool choice: without `none`, the model chooses. */
function buildTools(request: ChatRequest): JsonObject["tools"] {
  if (request.tools.length === 0 || request.toolChoice?.type === "none") return undefined;
  return request.tools.map(buildTool);
}

function buildTool({ name, description, parameters }: ToolDefinition): JsonObject {
  return {
    type: "function",
    function: { name, description, parameters: parameters ?? NO_ARGUMENTS },
  };
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
