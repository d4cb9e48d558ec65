import type { ChatRequest, ResponseFormat } from "../../core/chat-request.ts";
import { namesOfAsked } from "../../core/parameter-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";

/** More of them are refused. */
const MAX_STOP_SEQUENCES = 5;

/** `generationConfig`. The client's further fields never win over what the gateway writes. */
export function buildGenerationConfig({ parameters, omitsReasoning }: ChatRequest): JsonObject {
  const { extra = {}, stop } = parameters;
  const thinking = extra["thinkingConfig"];
  // What is undefined is left out by the serialiser.
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

/** Parameters that the body has no words for. Of too many stop strings some are left out. */
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
