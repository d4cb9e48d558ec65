import { encodeError } from "../../codecs/shared/errors/openai-error-body.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { openaiLimitHeaders } from "../families/headers/openai-limit-headers.ts";
import type { SayLimits } from "../families/headers/say-limits.ts";

/** The form in which one family writes errors. */
export interface ErrorForm {
  readonly encode: (error: ServiceError, requestId: string) => JsonObject;
  readonly statusOf: (error: ServiceError) => number;
  /** A header in addition to `x-request-id` from which the family's client libraries read the request's id. */
  readonly requestIdHeader?: string;
  /** The headers that report the remaining limits of a key. */
  readonly sayLimits: SayLimits;
}

/** The chat form, which everything except the messages family uses. */
export const chatErrorForm: ErrorForm = {
  encode: encodeError,
  statusOf: ({ status }) => status,
  sayLimits: openaiLimitHeaders,
};

/**
 * Builds the response for an error: status, form, and the headers that direct the client's next step.
 *
 * @param now in Unix milliseconds. The headers of a refusal by limits are computed from it.
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
  // The rest of a body that was refused unread must not be parsed as the next request.
  if (error.status === 408 || error.status === 413) headers.set("connection", "close");
  const body = JSON.stringify(form.encode(error, requestId));
  return new Response(body, { status: form.statusOf(error), headers });
}
