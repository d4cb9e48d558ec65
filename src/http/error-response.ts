import { encodeError } from "../codecs/chat-completions/encode-error.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json.ts";

/** Renders an error as the JSON body of one family. */
export type ErrorForm = (error: ServiceError, requestId: string) => JsonObject;

/** The chat form, which everything but the messages family speaks. */
export const chatErrorForm: ErrorForm = encodeError;

/** The error as a response: status, form, and the headers that tell a client what to do next. */
export function errorResponse(error: ServiceError, requestId: string, form: ErrorForm): Response {
  const headers = new Headers({ "content-type": "application/json" });
  if (error.status === 401) headers.set("www-authenticate", "Bearer");
  if (error.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  }
  if (error.shouldRetry === false) headers.set("x-should-retry", "false");
  // The rest of a body that was refused unread must not be taken for the next request.
  if (error.status === 408 || error.status === 413) headers.set("connection", "close");
  return new Response(JSON.stringify(form(error, requestId)), { status: error.status, headers });
}
