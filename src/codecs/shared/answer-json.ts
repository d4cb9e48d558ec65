import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";

/** The JSON object that a vendor's answer or event must be. Throws `upstream_error` when it is none. */
export function parseAnswerObject(text: string): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    // The vendor's words may be in it, but so may anything else.
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

/** A count of tokens; undefined for anything that is none. */
export function readCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
