import type { ChatRequest } from "../../../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../../../lib/json/json.ts";
import { type ClientNames, saysSomething, typeName } from "../../../shared/client-names.ts";
import { namesOfEffort } from "../../../shared/metadata-extension.ts";
import type { ResponsesRequest } from "../wire.ts";

const LOGPROBS = "message.output_text.logprobs";
/** Values of `include` that the gateway supports. */
const INCLUDED: ReadonlySet<string> = new Set([
  "file_search_call.results",
  "reasoning.encrypted_content",
  LOGPROBS,
]);

/** Fields that are accepted and ignored. */
const UNREAD_FIELDS = [
  "client_metadata",
  "context_management",
  "max_tool_calls",
  "moderation",
  "stream_options",
] as const;

/** The item types that the gateway supports, and references to earlier items. */
const KNOWN_ITEMS: ReadonlySet<string> = new Set([
  "message",
  "function_call",
  "custom_tool_call",
  "function_call_output",
  "custom_tool_call_output",
  "reasoning",
  // Its passages reach the model with the question that they belong to.
  "file_search_call",
  "item_reference",
]);
const KNOWN_TOOLS: ReadonlySet<string> = new Set([
  "function",
  "custom",
  "namespace",
  "file_search",
]);

/** Returns how a client of the responses format names its parameters, and which of them have no effect. */
export function namesOf(
  request: ResponsesRequest,
  body: JsonObject,
  chatRequest: ChatRequest,
): ClientNames {
  const { include, max_output_tokens, metadata, truncation } = request;
  const unread = UNREAD_FIELDS.filter((name) => saysSomething(body[name]));
  const included = (include ?? []).filter((name) => !INCLUDED.has(name));
  return {
    own: () =>
      new Map([
        ["max_tokens", max_output_tokens == null ? [] : ["max_output_tokens"]],
        ["response_format", ["text.format"]],
        ["verbosity", ["text.verbosity"]],
        ["logprobs", include?.includes(LOGPROBS) ? [typeName("include", LOGPROBS)] : []],
        ["reasoning_effort", namesOfEffort(metadata, ["reasoning.effort"])],
        // The answer repeats it, which is its only purpose.
        ["metadata", []],
      ]),
    ignored: [
      ...unread,
      ...(truncation === "auto" ? ["truncation"] : []),
      ...included.map((name) => typeName("include", name)),
      ...ignoredItems(request),
      ...ignoredTools(request, chatRequest),
    ],
  };
}

function ignoredItems({ input }: ResponsesRequest): string[] {
  if (typeof input === "string") return [];
  return unknownTypes(input, KNOWN_ITEMS).map((type) => typeName("input", type));
}

function ignoredTools({ tools, tool_choice }: ResponsesRequest, { toolChoice }: ChatRequest) {
  const given = tools ?? [];
  const members = given.flatMap(({ type, ...rest }) => {
    const { tools: inner } = rest;
    return type === "namespace" && Array.isArray(inner) ? inner.filter(isJsonObject) : [];
  });
  const names = unknownTypes([...given, ...members], KNOWN_TOOLS).map((type) =>
    typeName("tools", type),
  );
  // A dropped `auto` or `none` is not reported, because nothing changes without it.
  const isFree = tool_choice == null || tool_choice === "auto" || tool_choice === "none";
  return toolChoice === undefined && !isFree ? [...names, "tool_choice"] : names;
}

function unknownTypes(
  members: readonly { readonly type?: unknown }[],
  known: ReadonlySet<string>,
): string[] {
  const types = new Set<string>();
  for (const { type } of members) {
    if (typeof type === "string" && !known.has(type)) types.add(type);
  }
  return [...types];
}
