import { type Json, objectOf, objectsOf, stringOf, stringsOf } from "../../json.ts";
import type { Model } from "../../models.ts";
import { invalid, invalidValue, unsupportedParameter, unsupportedValue } from "../openai-error.ts";
import { type OpenAiTraits, traitsOf } from "../openai-models.ts";
import { checkChatMessages } from "./check-chat-messages.ts";
import { checkFormat } from "./check-format.ts";
import { checkChoice, checkFunctions } from "./check-tools.ts";
import { checkNumber } from "./check-values.ts";

const fields: ReadonlySet<string> = new Set(
  `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
   metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
   prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
   stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
   web_search_options`.split(/\s+/),
);
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const SAMPLING = ["temperature", "top_p", "logprobs", "top_logprobs"];
const NOT_WITH_REASONING = ["frequency_penalty", "presence_penalty", "logit_bias"];

/** Throws OpenAI's error for an invalid chat-completions body; returns the effort of the model's reasoning. */
export function checkChat(body: Json, model: Model): string {
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) {
    throw invalid(`Unrecognized request argument supplied: ${unknown}`, null);
  }
  checkChatMessages(body["messages"]);
  checkRanges(body);
  checkTools(body);
  checkFormat(objectOf(body["response_format"]), {
    param: "response_format",
    schemaAt: "json_schema",
  });
  checkWordJson(body);
  const effort = checkModel(body, traitsOf(model));
  checkLength(body, traitsOf(model));
  return effort;
}

function checkRanges(body: Json): void {
  checkNumber(body, "temperature", { kind: "decimal", from: 0, to: 2 });
  checkNumber(body, "top_p", { kind: "decimal", from: 0, to: 1 });
  checkNumber(body, "frequency_penalty", { kind: "decimal", from: -2, to: 2 });
  checkNumber(body, "presence_penalty", { kind: "decimal", from: -2, to: 2 });
  checkNumber(body, "n", { kind: "integer", from: 1, to: 1 });
  checkNumber(body, "top_logprobs", { kind: "integer", from: 0, to: 20 });
  for (const param of ["max_tokens", "max_completion_tokens"]) {
    checkNumber(body, param, { kind: "integer", from: 1, to: Number.POSITIVE_INFINITY });
  }
  const stop = stringsOf(body["stop"]);
  if (stop.length > 4) {
    const message = `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${stop.length} instead.`;
    throw invalid(message, "stop", "array_above_max_length");
  }
  if (body["stream_options"] != null && body["stream"] !== true) {
    throw invalid(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      "stream_options",
    );
  }
}

function checkTools(body: Json): void {
  const tools = objectsOf(body["tools"]);
  tools.forEach((tool, index) => {
    if (tool["type"] !== "function") {
      throw invalidValue(`tools[${index}].type`, tool["type"], ["function", "custom"]);
    }
  });
  checkFunctions(
    tools.map((tool, index) => ({
      definition: objectOf(tool["function"]) ?? {},
      at: `tools[${index}].function`,
    })),
  );
  const names = tools.map((tool) => String(objectOf(tool["function"])?.["name"]));
  const choice = body["tool_choice"];
  const name = stringOf(objectOf(objectOf(choice)?.["function"])?.["name"]);
  if (typeof choice === "string" && !["none", "auto", "required"].includes(choice)) {
    throw invalidValue("tool_choice", choice, ["none", "auto", "required"]);
  }
  checkChoice(body, name, names);
}

function checkWordJson(body: Json): void {
  const isAsked = objectOf(body["response_format"])?.["type"] === "json_object";
  if (!isAsked || /json/i.test(JSON.stringify(body["messages"]))) return;
  throw invalid(
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "messages",
  );
}

function checkModel(body: Json, traits: OpenAiTraits): string {
  const given = body["reasoning_effort"] ?? undefined;
  if (traits.efforts.length === 0) {
    if (given === undefined) return "none";
    throw invalid("Unrecognized request argument supplied: reasoning_effort", null);
  }
  const effort = checkEffort(given, traits, "reasoning_effort");
  if (body["max_tokens"] != null) {
    throw unsupportedParameter("max_tokens", " Use 'max_completion_tokens' instead.");
  }
  for (const param of refusedParameters(traits, effort)) {
    if (body[param] != null) throw unsupportedParameter(param);
  }
  const hasTools = objectsOf(body["tools"]).length > 0;
  if (traits.toolsWithoutEffortOnly && hasTools && effort !== "none") {
    const message = `Function tools with reasoning_effort are not supported for ${String(body["model"])} in /v1/chat/completions. Please use /v1/responses instead.`;
    throw invalid(message, "reasoning_effort");
  }
  return effort;
}

/** Returns the effort in force. Throws the error for an effort that is unknown or that the model does not support. */
export function checkEffort(given: unknown, traits: OpenAiTraits, param: string): string {
  if (given === undefined || given === null) return traits.defaultEffort;
  const effort = String(given);
  if (!EFFORTS.includes(effort)) throw invalidValue(param, effort, EFFORTS);
  if (!traits.efforts.includes(effort)) throw unsupportedValue(param, effort, traits.efforts);
  return effort;
}

function refusedParameters(traits: OpenAiTraits, effort: string): string[] {
  const takesSampling = traits.sampling === "without-effort" && effort === "none";
  return [
    ...(takesSampling ? [] : SAMPLING),
    ...NOT_WITH_REASONING,
    ...(traits.stop ? [] : ["stop"]),
  ];
}

function checkLength(body: Json, { maxOutputTokens }: OpenAiTraits): void {
  for (const param of ["max_tokens", "max_completion_tokens"]) {
    const wanted = Number(body[param] ?? 0);
    if (wanted <= maxOutputTokens) continue;
    const message = `max_tokens is too large: ${wanted}. This model supports at most ${maxOutputTokens} completion tokens, whereas you provided ${wanted}.`;
    throw invalid(message, param, "invalid_value");
  }
}
