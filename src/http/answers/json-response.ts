import type { JsonValue } from "../../lib/json.ts";

/** A value as a JSON response. */
export function jsonResponse(value: JsonValue, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json" },
  });
}
