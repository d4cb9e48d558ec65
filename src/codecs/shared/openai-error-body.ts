import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";

/** The body of an error in every format of OpenAI's: all four keys, always. */
export function encodeError({ message, type, param, code }: ServiceError): JsonObject {
  // OpenAI has no code for this one, and clients know it by its words.
  const known = code === "item_not_found" ? null : code;
  return { error: { message, type, param: param ?? null, code: known } };
}
