import type { JsonValue } from "../../lib/json/json.ts";

export function jsonResponse(value: JsonValue, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** Builds a JSON response for a value with a new secret, which no cache may store. */
export function secretResponse(value: JsonValue, status = 200): Response {
  const response = jsonResponse(value, status);
  response.headers.set("cache-control", "no-store");
  return response;
}
