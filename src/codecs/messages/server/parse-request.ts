import type {
  ChatRequest,
  GenerationParameters,
  ResponseFormat,
} from "../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { ParsedCall } from "../../codec.ts";
import { checkItemCount } from "../../shared/check-item-count.ts";
import { checkRequest, invalidValue } from "../../shared/check-request.ts";
import { readToolsScope } from "../../shared/metadata-extension.ts";
import type { MessagesForm } from "./messages-form.ts";
import { namesOf } from "./names-of.ts";
import { parseMessages } from "./parse-messages.ts";
import { parseThinking } from "./parse-thinking.ts";
import { parseTools } from "./parse-tools.ts";
import { createInputReader } from "./raw-inputs.ts";
import { countRequestSchema, type MessagesRequest, messagesRequestSchema } from "./wire.ts";

/**
 * Reads the parsed JSON body of `POST /v1/messages`. Throws a `ServiceError` that names the invalid field.
 * @param text the body as received, in which integers of any size are exact.
 */
export function parseRequest(body: unknown, text: string): ParsedCall<MessagesForm> {
  const request = checkBody(messagesRequestSchema, body);
  const chatRequest = toChatRequest(request, text);
  return {
    request: chatRequest,
    form: {
      omitsThinking: chatRequest.omitsReasoning === true,
      fillsCacheOnly: request.max_tokens === 0,
    },
    names: namesOf(request, chatRequest),
  };
}

/**
 * Reads the body of `POST /v1/messages/count_tokens`: the same, but without a required `max_tokens`, which counting
 * does not need.
 */
export function parseCountRequest(body: unknown, text: string): ChatRequest {
  return { ...toChatRequest(checkBody(countRequestSchema, body), text), stream: false };
}

function checkBody(
  schema: typeof countRequestSchema | typeof messagesRequestSchema,
  body: unknown,
): MessagesRequest {
  if (!isJsonObject(body)) throw invalidValue([], "a JSON object", body);
  checkItemCount(body);
  refuseThread(body);
  const request: unknown = body;
  checkRequest(schema, request);
  return request;
}

/** Refuses threads: a client that uses one sends only new content and relies on the server to store the rest. */
function refuseThread({ thread }: JsonObject): void {
  if (thread == null) return;
  throw new ServiceError(
    "thread_unsupported_request",
    "'thread' cannot be used: conversations are not stored here. Send the whole conversation in 'messages', without 'thread'.",
    { param: "thread" },
  );
}

function toChatRequest(request: MessagesRequest, text: string): ChatRequest {
  const { tools, toolChoice, parallelToolCalls } = parseTools(request);
  const { effort, leavesThinking, omits } = parseThinking(request);
  return {
    model: request.model || undefined,
    messages: parseMessages(request, createInputReader(text)),
    tools,
    toolChoice,
    parallelToolCalls,
    parameters: parseParameters(request),
    effort,
    leavesThinking: leavesThinking || undefined,
    stream: request.stream ?? false,
    omitsReasoning: omits || undefined,
    toolsScope: readToolsScope(request.metadata),
    fallbacks: request.ext?.fallbacks ?? undefined,
  };
}

function parseParameters(request: MessagesRequest): GenerationParameters {
  const { max_tokens, stop_sequences } = request;
  return {
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    topK: request.top_k ?? undefined,
    // An engine cannot read a prompt without answering at least one token.
    maxOutputTokens: max_tokens === 0 ? 1 : (max_tokens ?? undefined),
    stop: stop_sequences == null || stop_sequences.length === 0 ? undefined : stop_sequences,
    responseFormat: parseFormat(request),
  };
}

function parseFormat({
  output_config,
  output_format,
}: MessagesRequest): ResponseFormat | undefined {
  const format = output_config?.format ?? output_format;
  if (format == null) return undefined;
  // This format has no name for a schema; other formats require one.
  return { type: "json_schema", name: "answer", schema: format.schema as JsonObject };
}
