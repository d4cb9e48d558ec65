import { EngineError } from "../engine-error.ts";

/** Mistral's error: flat, its code a number in a string. */
export function mistralError(
  status: number,
  {
    code,
    message,
    type,
  }: { readonly code: string; readonly message: string; readonly type: string },
): EngineError {
  return new EngineError(status, { object: "error", message, type, param: null, code });
}

/** What its validation found: a list, below the message. */
export function invalidField(
  loc: readonly (string | number)[],
  { input, msg, type }: { readonly input?: unknown; readonly msg: string; readonly type: string },
): EngineError {
  const detail = [{ type, loc: ["body", ...loc], msg, input: input ?? null }];
  return new EngineError(422, {
    object: "error",
    message: { detail },
    type: "invalid_request_error",
    param: null,
    code: null,
    raw_status_code: 422,
  });
}
