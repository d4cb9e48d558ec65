import { z } from "@hono/zod-openapi";
import { errorSchema } from "../../codecs/chat-completions/server/wire.ts";
import type { RouteDefinition } from "../request/routes/route.ts";

/** Parts of the OpenAPI document that many routes share. */
export const KEY_SECURITY: NonNullable<RouteDefinition["security"]> = [
  { bearerKey: [] },
  { headerKey: [] },
];

/** Marks a route as open explicitly, because readers would have to guess the meaning of a missing field. */
export const NO_SECURITY: NonNullable<RouteDefinition["security"]> = [];

// This is a copy, because only schemas created after that import have the method, whatever file was loaded first.
export const chatError = z.object(errorSchema.shape).openapi("ChatError");

/** Describes an answer that is an error in the chat form. */
export function refusal(description: string) {
  return { description, content: { "application/json": { schema: chatError } } };
}

/** The refusals of every route with a small JSON body. */
export const BODY_ERRORS: RouteDefinition["responses"] = {
  400: refusal("A field is wrong or cannot be set; `param` names it."),
  408: refusal("The body took too long to arrive."),
  413: refusal("The body is over the limit."),
  415: refusal("The body is not JSON in UTF-8."),
};

/** The refusals of every route with a key. */
export const KEY_ERRORS: RouteDefinition["responses"] = {
  400: refusal("The request line or a header is malformed."),
  401: refusal("The key is missing, unknown, revoked or expired."),
  403: refusal("The key may not be used from this address, or the license has expired."),
  503: refusal("The service cannot take the call now; `Retry-After` tells how long."),
};

/** The refusals of every metered route of the chat form. */
export const CHAT_ERRORS: RouteDefinition["responses"] = {
  ...KEY_ERRORS,
  400: refusal("The request is wrong; `param` names the field."),
  403: refusal(
    "The key may not be used from this address or is bound to an assistant, or the license has expired.",
  ),
  404: refusal("The assistant that `model` names does not exist."),
  408: refusal("The body took too long to arrive."),
  413: refusal("The body is over the limit."),
  415: refusal("The body is not JSON in UTF-8."),
  429: refusal(
    "A limit is reached; `Retry-After` tells how long, and the headers of the limits what is left of them.",
  ),
  502: refusal("The engine failed."),
  504: refusal("The engine did not answer in time."),
};
