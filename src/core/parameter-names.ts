import type { GenerationParameters } from "./chat-request.ts";

/** A parameter with a place of its own in the request. */
export type ParameterField = keyof Omit<GenerationParameters, "extra">;

/** The names in the chat-completions format. Rules and reports about a parameter use them, whatever its client's format. */
export const PARAMETER_NAMES: Readonly<Record<ParameterField, string>> = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  maxOutputTokens: "max_tokens",
  stop: "stop",
  seed: "seed",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  responseFormat: "response_format",
  logprobs: "logprobs",
  topLogprobs: "top_logprobs",
};

/** True when the field is set, to something else than what every model does without it. */
export function isAsked(parameters: GenerationParameters, field: ParameterField): boolean {
  switch (field) {
    case "temperature":
    case "topP":
    case "topK":
    case "maxOutputTokens":
    case "seed":
      return parameters[field] !== undefined;
    case "presencePenalty":
    case "frequencyPenalty":
    case "topLogprobs":
    case "logprobs":
      return Boolean(parameters[field]);
    case "stop":
      return (parameters.stop?.length ?? 0) > 0;
    case "responseFormat":
      return parameters.responseFormat !== undefined && parameters.responseFormat.type !== "text";
  }
}

/** The names of those of the fields that are asked for. */
export function namesOfAsked(
  parameters: GenerationParameters,
  fields: readonly ParameterField[],
): string[] {
  return fields
    .filter((field) => isAsked(parameters, field))
    .map((field) => PARAMETER_NAMES[field]);
}
