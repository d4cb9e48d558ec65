import { encodeError } from "../../codecs/shared/openai-error-body.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { openaiLimitHeaders } from "../families/openai-limit-headers.ts";
import type { SayLimits } from "../families/say-limits.ts";

/** How one family says an error. */
export interface ErrorForm {
  /** The JSON body. */
  readonly encode: (error: ServiceError, requestId: string) => JsonObject;
  /** The HTTP status. */
  readonly statusOf: (error: ServiceError) => number;
  /** A header beside `x-request-id` that its client libraries read the request's id from. */
  readonly requestIdHeader?: string;
  /** The headers that report what is left of a key's limits. */
  readonly sayLimits: SayLimits;
}

/** The chat form, which everything but the messages family speaks. */
export const chatErrorForm: ErrorForm = {
  encode: encodeError,
  statusOf: ({ status }) => status,
  sayLimits: openaiLimitHeaders,
};

/**
 * The error as a response: status, form, and the headers that tell a client what to do next.
 *
 * @param now Unix milliseconds, for a refusal by limits: headers tell from it when there will be more.
 */
export function errorResponse(
  error: ServiceError,
  requestId: string,
  form: ErrorForm,
  now = 0,
): Response {
  const limits = error.limits === undefined ? {} : form.sayLimits(error.limits, now);
  const headers = new Headers({ "content-type": "application/json", ...limits });
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
