import type { GenerationParameters } from "./chat-request.ts";

/** A parameter with its own field in the request. */
export type ParameterField = keyof Omit<GenerationParameters, "extra">;

/** The names in the chat-completions format. Rules and reports use these names, whatever the client's format is. */
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

/** Reports whether the field is set to something other than the behaviour every model has without it. */
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

/** Returns the names of those fields that are set to a non-default value. */
export function namesOfAsked(
  parameters: GenerationParameters,
  fields: readonly ParameterField[],
): string[] {
  return fields
    .filter((field) => isAsked(parameters, field))
    .map((field) => PARAMETER_NAMES[field]);
}
