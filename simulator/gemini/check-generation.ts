import { type Json, numberOf, objectOf, stringOf } from "../json.ts";
import type { Model } from "../models.ts";
import { checkSchema } from "./check-tools.ts";
import { badPayload, invalid } from "./gemini-error.ts";
import { type GeminiTraits, traitsOf } from "./gemini-models.ts";

const MIME_TYPES = [undefined, "text/plain", "application/json", "text/x.enum"];
const LEVELS = ["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"];
const STOPS_LIMIT = 5;

/** Throws Google's error for invalid generation settings; returns whether the model thinks. */
export function checkGeneration(config: Json, model: Model): boolean {
  const traits = traitsOf(model);
  checkRange(config, "temperature", { from: 0, to: 2 });
  checkRange(config, "topP", { from: 0, to: 1 });
  checkRange(config, "topK", { from: 1, to: Number.POSITIVE_INFINITY });
  checkRange(config, "candidateCount", { from: 1, to: 1 });
  const maxTokens = numberOf(config["maxOutputTokens"]);
  if (maxTokens !== undefined && (maxTokens < 1 || maxTokens > traits.maxOutputTokens)) {
    throw invalid(
      `Unable to submit request because it has a maxOutputTokens value of ${maxTokens} but the supported range is from 1 (inclusive) to ${traits.maxOutputTokens + 1} (exclusive). Update the value and try again.`,
    );
  }
  const stops = config["stopSequences"];
  if (Array.isArray(stops) && stops.length > STOPS_LIMIT) {
    throw invalid(
      `* GenerateContentRequest.generation_config.stop_sequences: the number of stop sequences must not exceed ${STOPS_LIMIT}.\n`,
    );
  }
  checkFormat(config);
  return checkThinking(objectOf(config["thinkingConfig"]), traits, model);
}

function checkRange(
  config: Json,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  const value = config[name];
  if (value === undefined) return;
  const field = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const path = `generation_config.${field}`;
  if (typeof value !== "number") {
    throw badPayload(path, `Invalid value at '${path}' (TYPE_FLOAT), ${JSON.stringify(value)}`);
  }
  if (value >= from && value <= to) return;
  throw invalid(
    `* GenerateContentRequest.${path}: ${field} must be in the range [${from}, ${to}].\n`,
  );
}

function checkFormat(config: Json): void {
  const type = stringOf(config["responseMimeType"]);
  if (!MIME_TYPES.includes(type)) {
    throw invalid(
      `* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are \`text/plain\`, \`application/json\`, \`application/xml\`, \`application/yaml\` and \`text/x.enum\`.\n`,
    );
  }
  const hasSchema =
    config["responseSchema"] !== undefined || config["responseJsonSchema"] !== undefined;
  if (hasSchema && type !== "application/json" && type !== "text/x.enum") {
    throw invalid(
      "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is `application/json`.\n",
    );
  }
  const schema = objectOf(config["responseSchema"]);
  if (schema) checkSchema(schema, "generation_config.response_schema");
}

function checkThinking(config: Json | undefined, traits: GeminiTraits, model: Model): boolean {
  if (!config) return traits.thinks;
  const { thinkingBudget: budget, thinkingLevel: level } = config;
  if (!traits.thinks) {
    throw invalid(`Thinking is not enabled for models/${model.name}`);
  }
  if (budget !== undefined && level !== undefined) {
    throw invalid("You can only set only one of thinking budget and thinking level.");
  }
  if (level !== undefined) checkLevel(String(level), traits);
  return budget === undefined || checkBudget(budget, traits);
}

function checkLevel(level: string, { levels }: GeminiTraits): void {
  const path = "generation_config.thinking_config.thinking_level";
  const name = level.toUpperCase();
  if (!LEVELS.includes(name)) {
    throw badPayload(
      path,
      `Invalid value at '${path}' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "${level}"`,
    );
  }
  if (levels.length === 0) throw invalid("Thinking level is not supported for this model.");
  if (!levels.includes(name)) {
    throw invalid(
      `Thinking level ${name} is not supported for this model. Please retry with other thinking level.`,
    );
  }
}

function checkBudget(given: unknown, { budget: range }: GeminiTraits): boolean {
  const path = "generation_config.thinking_config.thinking_budget";
  const budget = numberOf(given);
  if (budget === undefined || !Number.isInteger(budget)) {
    throw badPayload(path, `Invalid value at '${path}' (TYPE_INT32), ${JSON.stringify(given)}`);
  }
  if (budget === -1) return true;
  if (budget === 0 && range?.mayBeOff === false) {
    throw invalid("Budget 0 is invalid. This model only works in thinking mode.");
  }
  if (budget === 0) return false;
  if (range && (budget < range.from || budget > range.to)) {
    throw invalid(
      `The thinking budget ${budget} is invalid. Please choose a value between ${range.from} and ${range.to}.`,
    );
  }
  return true;
}
