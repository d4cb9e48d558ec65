import type { ChatRequest } from "../../core/chat-request.ts";
import { EFFORTS, type Effort, parseEffort } from "../../core/effort.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { checkItemCount } from "../check-item-count.ts";
import { checkRequest, invalidValue } from "../check-request.ts";
import type { ParsedCall } from "../codec.ts";
import type { ChatForm } from "./chat-form.ts";
import { parseMessages } from "./parse-messages.ts";
import { parseParameters } from "./parse-parameters.ts";
import { parseTools } from "./parse-tools.ts";
import { type ChatCompletionRequest, chatCompletionRequestSchema } from "./wire.ts";

/** Reads the parsed JSON body of `POST /v1/chat/completions`. Throws a `ServiceError` that names the field at fault. */
export function parseRequest(body: unknown): ParsedCall<ChatForm> {
  if (!isJsonObject(body)) throw invalidValue([], "a JSON object", body);
  checkItemCount(body);
  const request: unknown = body;
  checkRequest(chatCompletionRequestSchema, request);
  refuseUnsupported(request, body);
  const { stream, stream_options } = request;
  return {
    request: toChatRequest(request, body, stream ?? false),
    form: { includeUsage: stream_options?.include_usage ?? false },
  };
}

function toChatRequest(
  request: ChatCompletionRequest,
  body: JsonObject,
  stream: boolean,
): ChatRequest {
  const { tools, toolChoice } = parseTools(request);
  const { parallel_tool_calls } = request;
  const toolsScope = readExtension(request, "tools_scope")?.value;
  return {
    model: request.model || undefined,
    messages: parseMessages(request.messages),
    tools,
    toolChoice,
    parallelToolCalls: parallel_tool_calls ?? undefined,
    parameters: parseParameters(request, body),
    effort: readEffort(request),
    stream,
    toolsScope,
  };
}

function refuseUnsupported({ n }: ChatCompletionRequest, body: JsonObject): void {
  if (n != null && n !== 1) {
    throw new ServiceError("unsupported_parameter", `'n' is ${n}: only 1 answer a call is given.`, {
      param: "n",
    });
  }
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

interface Setting<Value> {
  readonly value: Value;
  readonly path: readonly string[];
}

type Extension = NonNullable<NonNullable<ChatCompletionRequest["metadata"]>["ext"]>;

/** A setting of `metadata.ext`, else of its earlier name `metadata.service`. */
function readExtension<Name extends "thinking" | "tools_scope">(
  { metadata }: ChatCompletionRequest,
  name: Name,
): Setting<NonNullable<Extension[Name]>> | undefined {
  for (const space of ["ext", "service"] as const) {
    const extension = metadata?.[space];
    const value = typeof extension === "string" ? undefined : extension?.[name];
    if (value != null) return { value, path: ["metadata", space, name] };
  }
  return undefined;
}

/** `metadata.ext.thinking` wins over `reasoning_effort`. */
function readEffort(request: ChatCompletionRequest): Effort | undefined {
  const { reasoning_effort } = request;
  const asked =
    reasoning_effort == null
      ? undefined
      : toEffort({ value: reasoning_effort, path: ["reasoning_effort"] });
  const thinking = readExtension(request, "thinking");
  return thinking === undefined ? asked : toEffort(thinking);
}

function toEffort({ value, path }: Setting<string | boolean>): Effort {
  if (typeof value === "boolean") return value ? "high" : "none";
  const effort = parseEffort(value);
  if (effort !== undefined) return effort;
  throw invalidValue(path, `one of ${EFFORTS.map((word) => `"${word}"`).join(", ")}`, value);
}
