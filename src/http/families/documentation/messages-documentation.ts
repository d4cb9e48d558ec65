import { z } from "@hono/zod-openapi";
import { messagesErrorSchema } from "../../../codecs/messages/server/wire-answer.ts";
import { CHAT_ERRORS } from "../../openapi/documentation.ts";
import type { RouteDefinition } from "../../request/routes/route.ts";

/** This is a copy, because only schemas created after zod was extended can be named. */
const messagesError = z.object(messagesErrorSchema.shape).openapi("MessagesError");

function messagesRefusal(description: string) {
  return { description, content: { "application/json": { schema: messagesError } } };
}

/** The refusals of every route of the messages form: those of the chat form, with this form's schema. */
export const MESSAGES_ERRORS: RouteDefinition["responses"] = {
  ...Object.fromEntries(
    Object.entries(CHAT_ERRORS).map(([status, answer]) => [
      status,
      messagesRefusal("description" in answer ? answer.description : ""),
    ]),
  ),
  400: messagesRefusal("The request is wrong; the message names the field."),
  529: messagesRefusal("The vendor's servers are overloaded; `Retry-After` tells how long."),
};
