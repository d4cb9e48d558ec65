import type { JsonValue } from "../../lib/json/json.ts";
import { jsonResponse } from "./json-response.ts";

/** OpenAI's client libraries wait for so long before they ask again. */
const POLL_AFTER_MS = 500;

/** Builds a JSON response for an object that is polled while work on it is in progress. */
export function polledResponse(value: JsonValue, isInProgress: boolean): Response {
  const response = jsonResponse(value);
  if (isInProgress) response.headers.set("openai-poll-after-ms", String(POLL_AFTER_MS));
  return response;
}
