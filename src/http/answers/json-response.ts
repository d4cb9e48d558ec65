import type { JsonValue } from "../../lib/json.ts";

/** A value as a JSON response. */
export function jsonResponse(value: JsonValue, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** The same for a value that holds a new secret, which nothing on the way may keep. */
export function secretResponse(value: JsonValue, status = 200): Response {
  const response = jsonResponse(value, status);
  response.headers.set("cache-control", "no-store");
  return response;
}
