import type { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json.ts";

/** The body of an error in every format of OpenAI's: all four keys, always. */
export function encodeError({ message, type, param, code }: ServiceError): JsonObject {
  return { error: { message, type, param: param ?? null, code } };
}
