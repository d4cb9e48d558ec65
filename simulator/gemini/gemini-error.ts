import { EngineError } from "../engine-error.ts";
import type { Json } from "../json.ts";

/** Creates Google's error. */
export function geminiError(
  code: number,
  status: string,
  { message, details }: { readonly message: string; readonly details?: readonly Json[] },
): EngineError {
  return new EngineError(code, {
    error: { code, message, status, ...(details ? { details } : {}) },
  });
}

export function invalid(message: string, details?: readonly Json[]): EngineError {
  return geminiError(400, "INVALID_ARGUMENT", details ? { message, details } : { message });
}

/** Creates the error for an unknown field, or for a value of the wrong type. */
export function badPayload(field: string, description: string): EngineError {
  const details = [
    {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ ...(field === "" ? {} : { field }), description }],
    },
  ];
  return invalid(description, details);
}
