import { EngineError } from "../engine-error.ts";

/** Anthropic's error. The id of the request, which its bodies repeat, is added where the answer is sent. */
export function anthropicError(status: number, type: string, message: string): EngineError {
  return new EngineError(status, { type: "error", error: { type, message } });
}

export function invalid(message: string): EngineError {
  return anthropicError(400, "invalid_request_error", message);
}
