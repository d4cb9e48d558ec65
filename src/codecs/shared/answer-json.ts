import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";

/** Parses a vendor's answer or event. Throws `upstream_error` when it is not a JSON object. */
export function parseAnswerObject(text: string): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    // The text may hold a message of the vendor, but it may also hold anything else.
    throw notAnAnswer(cause);
  }
  if (!isJsonObject(json)) throw notAnAnswer();
  return json;
}

export function notAnAnswer(cause?: unknown): ServiceError {
  return new ServiceError("upstream_error", "The engine sent something that is not an answer.", {
    cause,
  });
}

export function brokenOff(): ServiceError {
  return new ServiceError("upstream_error", "The engine's answer broke off.");
}

/** Returns a token count; undefined for a value that is not one. */
export function readCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
