import type { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject } from "../../../lib/json/json.ts";

/** Returns the body of an error in every OpenAI format. All four keys of `error` are always present. */
export function encodeError({ message, type, param, code, ext }: ServiceError): JsonObject {
  // OpenAI has no code for this error; clients recognise it by its message.
  const known = code === "item_not_found" ? null : code;
  return {
    error: { message, type, param: param ?? null, code: known },
    ...(ext !== undefined && { ext }),
  };
}
