import type { ChatRequest, ResponseFormat } from "../../../core/chat/chat-request.ts";
import { namesOfAsked, type ParameterField } from "../../../core/chat/parameter-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import type { UpstreamModel } from "../../codec.ts";
import { alternateTurns, type Turn } from "../../shared/alternate-turns.ts";
import { lastMarked, writeBlocks } from "./build-blocks.ts";
import { buildText, buildTurns, isOwnReasoning } from "./build-messages.ts";
import { buildTools } from "./build-tools.ts";

/** The vendor requires a limit. All its models allow this one. */
const DEFAULT_MAX_TOKENS = 4_096;
const MAX_CACHE_MARKS = 4;
/** Parameters that the vendor does not have. */
const UNKNOWN_FIELDS: readonly ParameterField[] = [
  "seed",
  "presencePenalty",
  "frequencyPenalty",
  "logprobs",
  "topLogprobs",
];

/**
 * Builds the body of `POST /v1/messages`, as text. The client's extra fields never override what the gateway writes.
 * Throws a `ServiceError` that names a part the vendor does not accept.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  const { parameters } = request;
  const { extra = {} } = parameters;
  const conversation = alternateTurns(request.messages, isOwnReasoning, model.midSystem);
  const system = conversation.system.map(buildText);
  const turns = buildTurns(conversation.turns);
  const { tools, choice } = buildTools(request, conversation.turns);
  // The serialiser omits undefined members.
  const rest: JsonObject = {
    ...extra,
    model: model.name,
    max_tokens: parameters.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    temperature: parameters.temperature,
    top_p: parameters.topP,
    top_k: parameters.topK,
    stop_sequences: parameters.stop,
    tool_choice: choice,
    thinking: buildThinking(request, conversation.turns),
    output_config: buildOutputConfig(extra["output_config"], parameters.responseFormat),
    stream: request.stream,
    // These are appended as text below.
    tools: undefined,
    system: undefined,
    messages: undefined,
  };
  const blocks = [...tools, ...system, ...turns.flatMap(({ content }) => content)];
  // A breakpoint on the whole body counts towards the limit.
  const marked = lastMarked(blocks, MAX_CACHE_MARKS - (extra["cache_control"] == null ? 0 : 1));
  const members = [JSON.stringify(rest).slice(1, -1)];
  if (tools.length > 0) members.push(`"tools":${writeBlocks(tools, marked)}`);
  if (system.length > 0) members.push(`"system":${writeBlocks(system, marked)}`);
  const messages = turns.map(
    ({ role, content }) => `{"role":"${role}","content":${writeBlocks(content, marked)}}`,
  );
  members.push(`"messages":[${messages.join(",")}]`);
  return `{${members.join(",")}}`;
}

/** Returns the `thinking` object that the effort rule chose, and requests the display of reasoning or its omission. */
function buildThinking(
  { parameters, omitsReasoning }: ChatRequest,
  turns: readonly Turn[],
): JsonValue | undefined {
  const thinking = parameters.extra?.["thinking"];
  if (!isJsonObject(thinking)) return undefined;
  const { type } = thinking;
  if (type !== "enabled" && type !== "adaptive") return thinking;
  // With a budget, the vendor refuses to continue after calls that have no reasoning before them.
  if (type === "enabled" && isAmongUnthoughtCalls(turns)) return undefined;
  if (omitsReasoning === true) return { ...thinking, display: "omitted" };
  // Newer models show no reasoning unless it is requested.
  return type === "adaptive" ? { display: "summarized", ...thinking } : thinking;
}

/**
 * Reports whether the model must continue after tool results, and its turn with the calls does not begin with
 * reasoning.
 */
function isAmongUnthoughtCalls(turns: readonly Turn[]): boolean {
  const [calls, results] = turns.slice(-2);
  if (results?.role !== "user" || results.results.length === 0) return false;
  return calls?.content[0]?.type !== "reasoning";
}

/** Returns the parameters that the body cannot express. */
export function findUnsaid(request: ChatRequest): readonly string[] {
  const { parameters, messages } = request;
  const unsaid = namesOfAsked(parameters, UNKNOWN_FIELDS);
  const { responseFormat: format, extra } = parameters;
  if (format?.type === "json_object") unsaid.push("response_format");
  if (format?.type === "json_schema" && format.schema === undefined) unsaid.push("response_format");
  const thinking = extra?.["thinking"];
  if (isJsonObject(thinking) && thinking["type"] === "enabled") {
    const { turns } = alternateTurns(messages, isOwnReasoning);
    if (isAmongUnthoughtCalls(turns)) unsaid.push("reasoning_effort");
  }
  return unsaid;
}

/** Builds `output_config`, which effort and format share. The vendor has no format for JSON without a schema. */
function buildOutputConfig(
  asked: JsonValue | undefined,
  format: ResponseFormat | undefined,
): JsonValue | undefined {
  if (format?.type !== "json_schema" || format.schema === undefined) return asked;
  const config = isJsonObject(asked) ? asked : {};
  return { ...config, format: { type: "json_schema", schema: format.schema } };
}
