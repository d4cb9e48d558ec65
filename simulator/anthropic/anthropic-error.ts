import { EngineError } from "../engine-error.ts";

/** Creates Anthropic's error. The request id, which its bodies repeat, is added when the answer is sent. */
export function anthropicError(status: number, type: string, message: string): EngineError {
  return new EngineError(status, { type: "error", error: { type, message } });
}

export function invalid(message: string): EngineError {
  return anthropicError(400, "invalid_request_error", message);
}
