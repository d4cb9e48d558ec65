import { EngineError } from "../engine-error.ts";

/** Creates Mistral's error: a flat object, whose code is a number in a string. */
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

/** Creates Mistral's validation error: a list below the message. */
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
