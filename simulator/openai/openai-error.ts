import { EngineError } from "../engine-error.ts";

interface Details {
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** Creates OpenAI's error. All four fields are always present. */
export function openAiError(status: number, message: string, details: Details = {}): EngineError {
  const { type = "invalid_request_error", param = null, code = null } = details;
  return new EngineError(status, { error: { message, type, param, code } });
}

/** Creates a 400 that names its parameter. */
export function invalid(message: string, param: string | null, code: string | null = null) {
  return openAiError(400, message, { param, code });
}

export function unsupportedParameter(param: string, hint = ""): EngineError {
  const message = `Unsupported parameter: '${param}' is not supported with this model.${hint}`;
  return invalid(message, param, "unsupported_parameter");
}

export function unsupportedValue(param: string, value: unknown, known: readonly string[]) {
  const message = `Unsupported value: '${param}' does not support '${String(value)}' with this model. Supported values are: ${listed(known)}.`;
  return invalid(message, param, "unsupported_value");
}

export function invalidValue(param: string, value: unknown, known: readonly string[]): EngineError {
  const message = `Invalid value: '${String(value)}'. Supported values are: ${listed(known)}.`;
  return invalid(message, param, "invalid_value");
}

function listed(values: readonly string[]): string {
  const words = values.map((value) => `'${value}'`);
  const last = words.pop() ?? "";
  if (words.length === 0) return last;
  return words.length === 1 ? `${words[0]} and ${last}` : `${words.join(", ")}, and ${last}`;
}
