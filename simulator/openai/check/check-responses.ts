import { type Json, objectOf, objectsOf, stringOf, stringsOf } from "../../json.ts";
import type { Model } from "../../models.ts";
import { invalid, invalidValue, unsupportedParameter, unsupportedValue } from "../openai-error.ts";
import { type OpenAiTraits, traitsOf } from "../openai-models.ts";
import { checkEffort } from "./check-chat.ts";
import { checkFormat } from "./check-format.ts";
import { checkInput } from "./check-input.ts";
import { checkChoice, checkFunctions, type FunctionTool } from "./check-tools.ts";
import { checkNumber } from "./check-values.ts";

const fields: ReadonlySet<string> = new Set(
  `background context_management conversation include input instructions max_output_tokens max_tool_calls metadata
   model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
   prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text
   tool_choice tools top_logprobs top_p truncation user client_metadata`.split(/\s+/),
);
const reasoningFields: ReadonlySet<string> = new Set([
  "effort",
  "summary",
  "generate_summary",
  "context",
  "mode",
]);
const INCLUDES = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
];
const TOOL_TYPES = [
  "function",
  "custom",
  "namespace",
  "tool_search",
  "web_search",
  "web_search_preview",
  "file_search",
  "code_interpreter",
  "image_generation",
  "mcp",
  "local_shell",
  "shell",
  "apply_patch",
  "computer",
];

/** Throws OpenAI's error for an invalid responses body; returns the effort of the model's reasoning. */
export function checkResponses(body: Json, model: Model): string {
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) throw unknownParameter(unknown);
  checkInput(body["input"], body["store"] !== false);
  const previous = stringOf(body["previous_response_id"]);
  if (previous !== undefined) {
    const message = `Previous response with id '${previous}' not found.`;
    throw invalid(message, "previous_response_id", "previous_response_not_found");
  }
  checkRanges(body);
  checkTools(body);
  checkFormat(objectOf(objectOf(body["text"])?.["format"]), {
    param: "text.format",
    schemaAt: undefined,
  });
  checkWordJson(body);
  checkLength(body, traitsOf(model));
  return checkModel(body, traitsOf(model));
}

function unknownParameter(name: string): Error {
  return invalid(`Unknown parameter: '${name}'.`, name, "unknown_parameter");
}

function checkRanges(body: Json): void {
  checkNumber(body, "temperature", { kind: "decimal", from: 0, to: 2 });
  checkNumber(body, "top_p", { kind: "decimal", from: 0, to: 1 });
  checkNumber(body, "top_logprobs", { kind: "integer", from: 0, to: 20 });
  checkNumber(body, "max_output_tokens", {
    kind: "integer",
    from: 16,
    to: Number.POSITIVE_INFINITY,
  });
  stringsOf(body["include"]).forEach((value, index) => {
    if (!INCLUDES.includes(value)) throw invalidValue(`include[${index}]`, value, INCLUDES);
  });
  for (const name of Object.keys(objectOf(body["reasoning"]) ?? {})) {
    if (!reasoningFields.has(name)) throw unknownParameter(`reasoning.${name}`);
  }
}

function checkTools(body: Json): void {
  const tools = objectsOf(body["tools"]);
  tools.forEach((tool, index) => {
    const type = String(tool["type"]);
    if (!TOOL_TYPES.includes(type)) throw invalidValue(`tools[${index}].type`, type, TOOL_TYPES);
    if (type === "function" && tool["function"] !== undefined) {
      throw unknownParameter(`tools[${index}].function`);
    }
  });
  const functions: FunctionTool[] = tools.flatMap((tool, index) =>
    tool["type"] === "function" ? { definition: tool, at: `tools[${index}]` } : [],
  );
  checkFunctions(functions);
  const names = tools.map((tool) => String(tool["name"]));
  const choice = objectOf(body["tool_choice"]);
  const isNamed = choice?.["type"] === "function" || choice?.["type"] === "custom";
  checkChoice(body, isNamed ? stringOf(choice["name"]) : undefined, names);
}

function checkWordJson(body: Json): void {
  const isAsked = objectOf(objectOf(body["text"])?.["format"])?.["type"] === "json_object";
  const said = JSON.stringify([body["input"], body["instructions"]]);
  if (!isAsked || /json/i.test(said)) return;
  throw invalid(
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    "input",
  );
}

function checkModel(body: Json, traits: OpenAiTraits): string {
  const reasoning = objectOf(body["reasoning"]) ?? {};
  if (traits.efforts.length === 0) {
    checkPlainModel(body, reasoning);
    return "none";
  }
  const effort = checkEffort(reasoning["effort"], traits, "reasoning.effort");
  const takesSampling = traits.sampling === "without-effort" && effort === "none";
  for (const param of takesSampling ? [] : ["temperature", "top_p", "top_logprobs"]) {
    if (body[param] != null) {
      const message = `Unsupported parameter: '${param}' is not supported with this model.`;
      throw invalid(message, param);
    }
  }
  return effort;
}

function checkPlainModel(body: Json, reasoning: Json): void {
  for (const name of ["effort", "summary"]) {
    if (reasoning[name] != null) throw unsupportedParameter(`reasoning.${name}`);
  }
  if (stringsOf(body["include"]).includes("reasoning.encrypted_content")) {
    throw invalid("Encrypted content is not supported with this model.", "include");
  }
  const verbosity = objectOf(body["text"])?.["verbosity"];
  if (verbosity != null && verbosity !== "medium") {
    throw unsupportedValue("text.verbosity", verbosity, ["medium"]);
  }
}

function checkLength(body: Json, { maxOutputTokens }: OpenAiTraits): void {
  const wanted = Number(body["max_output_tokens"] ?? 0);
  if (wanted <= maxOutputTokens) return;
  const message = `Invalid 'max_output_tokens': integer above maximum value. Expected a value <= ${maxOutputTokens}, but got ${wanted} instead.`;
  throw invalid(message, "max_output_tokens", "integer_above_max_value");
}
