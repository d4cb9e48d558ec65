import type { JsonValue } from "../../lib/json.ts";
import { jsonResponse } from "./json-response.ts";

/** A value that holds a new secret, as a JSON response that nobody on the way is to keep. */
export function secretResponse(value: JsonValue, status = 200): Response {
  const response = jsonResponse(value, status);
  response.headers.set("cache-control", "no-store");
  return response;
}
