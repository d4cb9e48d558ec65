import { encodeError } from "../codecs/openai-error-body.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json.ts";

/** How one family says an error. */
export interface ErrorForm {
  /** The JSON body. */
  readonly encode: (error: ServiceError, requestId: string) => JsonObject;
  /** The HTTP status. */
  readonly statusOf: (error: ServiceError) => number;
}

/** The chat form, which everything but the messages family speaks. */
export const chatErrorForm: ErrorForm = {
  encode: encodeError,
  statusOf: ({ status }) => status,
};

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
  const body = JSON.stringify(form.encode(error, requestId));
  return new Response(body, { status: form.statusOf(error), headers });
}
