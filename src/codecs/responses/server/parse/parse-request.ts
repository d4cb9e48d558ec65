import type { CallerMemory } from "../../../../core/callers/caller-memory.ts";
import type { ChatRequest } from "../../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../../lib/json/json.ts";
import type { ParsedCall } from "../../../codec.ts";
import { checkItemCount } from "../../../shared/check-item-count.ts";
import { checkRequest, invalidValue } from "../../../shared/check-request.ts";
import { readEffort, readToolsScope } from "../../../shared/metadata-extension.ts";
import { keepResponse } from "../remembered-response.ts";
import { repeatRequest } from "../repeat-request.ts";
import type { ResponsesForm } from "../responses-form.ts";
import { type ResponsesRequest, responsesRequestSchema } from "../wire.ts";
import { namesOf } from "./names-of.ts";
import { parseFileSearch } from "./parse-file-search.ts";
import { parseInput } from "./parse-input.ts";
import { parseParameters } from "./parse-parameters.ts";
import { parseToolChoice } from "./parse-tool-choice.ts";
import { parseTools } from "./parse-tools.ts";
import { recallItems } from "./recall-items.ts";

/** Reads the parsed JSON body of `POST /v1/responses`. Throws a `ServiceError` that names the invalid field. */
export function parseRequest(
  body: unknown,
  _text: string,
  memory?: CallerMemory,
): ParsedCall<ResponsesForm> {
  if (!isJsonObject(body)) throw invalidValue([], "a JSON object", body);
  checkItemCount(body);
  refuseUnsupported(body);
  const request: unknown = body;
  checkRequest(responsesRequestSchema, request);
  return toCall(request, body, memory);
}

function toCall(
  request: ResponsesRequest,
  body: JsonObject,
  memory: CallerMemory | undefined,
): ParsedCall<ResponsesForm> {
  const { model, metadata, parallel_tool_calls, stream, include, ext } = request;
  const { offered, names, repeated } = parseTools(request);
  const search = parseFileSearch(request);
  const choice = parseToolChoice(request.tool_choice, offered);
  const effort = readEffort(metadata, request.reasoning?.effort, ["reasoning", "effort"]);
  const chatRequest: ChatRequest = {
    model: model || undefined,
    messages: parseInput(request, recallItems(request, memory), names),
    tools: choice.tools,
    toolChoice: choice.toolChoice,
    parallelToolCalls: parallel_tool_calls ?? undefined,
    parameters: parseParameters(request, body),
    effort,
    stream: stream ?? false,
    toolsScope: readToolsScope(metadata),
    fallbacks: ext?.fallbacks ?? undefined,
    ...(search !== undefined && { fileSearch: search.fileSearch }),
  };
  const remember = request.store === false ? undefined : rememberIn(memory, request);
  const form: ResponsesForm = {
    repeated: repeatRequest(request, body, {
      tools: search === undefined ? repeated : [search.repeated, ...repeated],
      toolChoice: choice.repeated,
      effort,
      isStored: remember !== undefined,
    }),
    remember,
    toolNames: names,
    wantsSearchResults: include?.includes("file_search_call.results") ?? false,
    sealsThoughts: include?.includes("reasoning.encrypted_content") ?? false,
  };
  return { request: chatRequest, form, names: namesOf(request, body, chatRequest) };
}

function rememberIn(
  memory: CallerMemory | undefined,
  { input, previous_response_id }: ResponsesRequest,
): ResponsesForm["remember"] {
  if (memory === undefined) return undefined;
  const previousId = previous_response_id || undefined;
  return (requestId, response) =>
    keepResponse(memory, requestId, { previousId, input: JSON.stringify(input), response });
}

/** Fields that refer to data stored at OpenAI, and their replacements. */
const STORED = new Map([
  [
    "conversation",
    "send the whole conversation in 'input', or name the last response in 'previous_response_id'",
  ],
  ["prompt", "send its text in 'instructions' or 'input'"],
]);

/**
 * Fields of the chat-completions format that have another name here. They are refused, so that their values are not
 * lost.
 */
const MOVED = new Map([
  ["messages", "input"],
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["response_format", "text.format"],
  ["reasoning_effort", "reasoning.effort"],
]);

function refuseUnsupported(body: JsonObject): void {
  for (const [param, instead] of STORED) {
    if (body[param] == null) continue;
    throw unsupported(param, `conversations and prompts are not stored here: ${instead}`);
  }
  if (body["background"] === true) {
    throw unsupported(
      "background",
      "answers are not generated in the background: omit it, and set 'stream' to receive the answer while it is generated",
    );
  }
  for (const [param, name] of MOVED) {
    if (body[param] != null) throw unsupported(param, `in this format it is '${name}'`);
  }
}

function unsupported(param: string, reason: string): ServiceError {
  return new ServiceError("unsupported_parameter", `'${param}' cannot be used, ${reason}.`, {
    param,
  });
}
