import { z } from "@hono/zod-openapi";
import type { RouteDefinition } from "./router.ts";

/** Parts of the OpenAPI document that many routes share. */
export const KEY_SECURITY: NonNullable<RouteDefinition["security"]> = [
  { bearerKey: [] },
  { headerKey: [] },
];

const chatError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().openapi({ description: "The field at fault." }),
      code: z.string().nullable(),
    }),
  })
  .openapi("ChatError");

function refusal(description: string) {
  return { description, content: { "application/json": { schema: chatError } } };
}

/** The refusals that every metered route of the chat form may answer with. */
export const CHAT_ERRORS: RouteDefinition["responses"] = {
  400: refusal("The request is wrong; `param` names the field."),
  401: refusal("The key is missing, unknown, revoked or expired."),
  413: refusal("The body is over the limit."),
  415: refusal("The body is not JSON in UTF-8."),
  429: refusal("A limit is reached; `Retry-After` tells how long."),
  502: refusal("The engine failed."),
  503: refusal("The service cannot take the call now."),
  504: refusal("The engine did not answer in time."),
};
