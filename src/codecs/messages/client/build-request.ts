import type { ChatRequest, ResponseFormat } from "../../../core/chat-request.ts";
import { namesOfAsked, type ParameterField } from "../../../core/parameter-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json.ts";
import type { UpstreamModel } from "../../codec.ts";
import { alternateTurns, type Turn } from "../../shared/alternate-turns.ts";
import { lastMarked, writeBlocks } from "./build-blocks.ts";
import { buildText, buildTurns, isOwnReasoning } from "./build-messages.ts";
import { buildTools } from "./build-tools.ts";

/** The vendor demands a limit. Every model of its allows this one. */
const DEFAULT_MAX_TOKENS = 4_096;
const MAX_CACHE_MARKS = 4;
/** The vendor has no parameters for them. */
const UNKNOWN_FIELDS: readonly ParameterField[] = [
  "seed",
  "presencePenalty",
  "frequencyPenalty",
  "logprobs",
  "topLogprobs",
];

/**
 * The body of `POST /v1/messages`, as text. The client's further fields never win over what the gateway writes.
 * Throws a `ServiceError` that names the part which the vendor cannot take.
 */
export function buildRequest(request: ChatRequest, model: UpstreamModel): string {
  const { parameters } = request;
  const { extra = {} } = parameters;
  const conversation = alternateTurns(request.messages, isOwnReasoning, model.midSystem);
  const system = conversation.system.map(buildText);
  const turns = buildTurns(conversation.turns);
  const { tools, choice } = buildTools(request, conversation.turns);
  // What is undefined is left out by the serialiser.
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
    // These follow as text.
    tools: undefined,
    system: undefined,
    messages: undefined,
  };
  const blocks = [...tools, ...system, ...turns.flatMap(({ content }) => content)];
  // A mark on the whole body counts as well.
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

/** How the model is to think, as the effort rule says it, and whether its thoughts are to be shown. */
function buildThinking(
  { parameters, omitsReasoning }: ChatRequest,
  turns: readonly Turn[],
): JsonValue | undefined {
  const thinking = parameters.extra?.["thinking"];
  if (!isJsonObject(thinking)) return undefined;
  const { type } = thinking;
  if (type !== "enabled" && type !== "adaptive") return thinking;
  // With a budget the vendor refuses to go on after calls that it did not think before.
  if (type === "enabled" && isAmongUnthoughtCalls(turns)) return undefined;
  if (omitsReasoning === true) return { ...thinking, display: "omitted" };
  // Newer models show nothing unless they are asked to.
  return type === "adaptive" ? { display: "summarized", ...thinking } : thinking;
}

/** The model is to go on after the results of calls, and its turn with the calls does not begin with its thoughts. */
function isAmongUnthoughtCalls(turns: readonly Turn[]): boolean {
  const [calls, results] = turns.slice(-2);
  if (results?.role !== "user" || results.results.length === 0) return false;
  return calls?.content[0]?.type !== "reasoning";
}

/** Parameters that the body has no words for. */
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

/** Effort and format share an object. The vendor has no word for JSON of any shape. */
function buildOutputConfig(
  asked: JsonValue | undefined,
  format: ResponseFormat | undefined,
): JsonValue | undefined {
  if (format?.type !== "json_schema" || format.schema === undefined) return asked;
  const config = isJsonObject(asked) ? asked : {};
  return { ...config, format: { type: "json_schema", schema: format.schema } };
}
