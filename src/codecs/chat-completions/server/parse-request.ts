import type { ChatRequest } from "../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { ParsedCall } from "../../codec.ts";
import { checkItemCount } from "../../shared/check-item-count.ts";
import { checkRequest, invalidValue, type UsualValues } from "../../shared/check-request.ts";
import { type ClientNames, saysSomething, typeName } from "../../shared/client-names.ts";
import { namesOfEffort, readEffort, readToolsScope } from "../../shared/metadata-extension.ts";
import type { ChatForm } from "./chat-form.ts";
import { parseMessages } from "./parse-messages.ts";
import { limitOf, parseParameters } from "./parse-parameters.ts";
import { parseTools } from "./parse-tools.ts";
import { type ChatCompletionRequest, chatCompletionRequestSchema } from "./wire.ts";

const PLAIN_ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant"]);
const USUAL_VALUES: UsualValues = {
  model: (value) => typeof value === "string",
  stream: (value) => typeof value === "boolean",
  messages: (value) => Array.isArray(value) && value.length > 0 && value.every(isPlainMessage),
};

/** Returns true for a message that is only a role and a text, as most are. */
function isPlainMessage(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  const { role, content } = message;
  return PLAIN_ROLES.has(role) && typeof content === "string" && Object.keys(message).length === 2;
}

/** Reads the parsed JSON body of `POST /v1/chat/completions`. Throws a `ServiceError` that names the invalid field. */
export function parseRequest(body: unknown): ParsedCall<ChatForm> {
  if (!isJsonObject(body)) throw invalidValue([], "a JSON object", body);
  checkItemCount(body);
  refuseResponsesBody(body);
  const request: unknown = body;
  checkRequest(chatCompletionRequestSchema, request, [], USUAL_VALUES);
  refuseUnsupported(request, body);
  const { stream, stream_options } = request;
  const chatRequest = toChatRequest(request, body, stream ?? false);
  return {
    request: chatRequest,
    form: {
      includeUsage: stream_options?.include_usage ?? false,
      ...(limitOf(request) === 0 && { isEmpty: true }),
    },
    names: toNames(request, chatRequest),
  };
}

function toNames(request: ChatCompletionRequest, { toolChoice }: ChatRequest): ClientNames {
  const { max_completion_tokens, max_tokens, metadata, tools, tool_choice } = request;
  const ignored: string[] = [];
  for (const { type } of tools ?? []) {
    if (type != null && type !== "function") ignored.push(typeName("tools", type));
  }
  // A dropped `auto` or `none` is not reported, because nothing changes without it.
  const isChoiceLost = toolChoice === undefined && tool_choice !== "auto" && tool_choice !== "none";
  if (isChoiceLost && saysSomething(tool_choice)) ignored.push("tool_choice");
  const older = max_tokens != null ? "max_tokens" : undefined;
  const limit = max_completion_tokens != null ? "max_completion_tokens" : older;
  return {
    own: () =>
      new Map([
        ["max_tokens", limit === undefined ? [] : [limit]],
        ["reasoning_effort", namesOfEffort(metadata, ["reasoning_effort"])],
      ]),
    ignored,
  };
}

function toChatRequest(
  request: ChatCompletionRequest,
  body: JsonObject,
  stream: boolean,
): ChatRequest {
  const { tools, toolChoice } = parseTools(request);
  const { parallel_tool_calls, metadata, ext } = request;
  return {
    model: request.model || undefined,
    messages: parseMessages(request.messages),
    tools,
    toolChoice,
    parallelToolCalls: parallel_tool_calls ?? undefined,
    parameters: parseParameters(request, body),
    effort: readEffort(metadata, request.reasoning_effort, ["reasoning_effort"]),
    stream,
    fallbacks: ext?.fallbacks ?? undefined,
    toolsScope: readToolsScope(metadata),
  };
}

/** Refuses a body of the responses format, which some editors post to this route. */
function refuseResponsesBody({ input, messages }: JsonObject): void {
  if (input == null || messages != null) return;
  throw new ServiceError(
    "unsupported_parameter",
    "'input' belongs to the responses format: post this body to /v1/responses, or send 'messages' here.",
    { param: "input" },
  );
}

function refuseUnsupported({ n }: ChatCompletionRequest, body: JsonObject): void {
  if (n != null && n !== 1) {
    throw new ServiceError(
      "unsupported_parameter",
      `'n' is ${n}: only one answer per call is supported.`,
      {
        param: "n",
      },
    );
  }
  // With functions, the answer would need the legacy form, unless no function may be called.
  if (body["function_call"] === "none") return;
  for (const name of ["functions", "function_call"]) {
    const value = body[name];
    if (value == null || (Array.isArray(value) && value.length === 0)) continue;
    throw new ServiceError(
      "unsupported_parameter",
      `'${name}' is no longer supported: use 'tools' and 'tool_choice'.`,
      { param: name },
    );
  }
}
