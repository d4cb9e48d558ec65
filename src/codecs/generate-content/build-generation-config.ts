import type { ChatRequest, ResponseFormat } from "../../core/chat/chat-request.ts";
import { namesOfAsked } from "../../core/chat/parameter-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json/json.ts";

/** The vendor's maximum. */
const MAX_STOP_SEQUENCES = 5;

/** Builds `generationConfig`. The client's extra fields never override what the gateway writes. */
export function buildGenerationConfig({ parameters, omitsReasoning }: ChatRequest): JsonObject {
  const { extra = {}, stop } = parameters;
  const thinking = extra["thinkingConfig"];
  // The serialiser omits undefined members.
  return {
    ...extra,
    thinkingConfig: omitsReasoning === true ? withoutThoughts(thinking) : thinking,
    temperature: parameters.temperature,
    topP: parameters.topP,
    topK: parameters.topK,
    maxOutputTokens: parameters.maxOutputTokens,
    stopSequences: stop?.slice(0, MAX_STOP_SEQUENCES),
    seed: parameters.seed,
    presencePenalty: parameters.presencePenalty,
    frequencyPenalty: parameters.frequencyPenalty,
    ...buildFormat(parameters.responseFormat),
  };
}

/**
 * Returns the parameters that the body cannot express, or of which a part is dropped: stop strings above the maximum.
 */
export function findUnsaid({
  parameters,
  tools,
  parallelToolCalls,
}: ChatRequest): readonly string[] {
  const unsaid = namesOfAsked(parameters, ["logprobs", "topLogprobs"]);
  if ((parameters.stop?.length ?? 0) > MAX_STOP_SEQUENCES) unsaid.push("stop");
  if (tools.length > 0 && parallelToolCalls === false) unsaid.push("parallel_tool_calls");
  return unsaid;
}

function withoutThoughts(thinking: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(thinking) ? { ...thinking, includeThoughts: false } : thinking;
}

function buildFormat(format: ResponseFormat | undefined): JsonObject {
  switch (format?.type) {
    case undefined:
    case "text":
      return {};
    case "json_object":
      return { responseMimeType: "application/json" };
    case "json_schema":
      return { responseMimeType: "application/json", responseJsonSchema: format.schema };
  }
}
