import { responsesServer } from "../../codecs/responses/server.ts";
import { documentedRequestSchema } from "../../codecs/responses/wire.ts";
import { responseEventSchema } from "../../codecs/responses/wire-events.ts";
import { responseSchema } from "../../codecs/responses/wire-response.ts";
import type { Deps } from "../../deps.ts";
import { chatErrorForm } from "../answers/error-response.ts";
import { createChatHandler } from "../chat-handler.ts";
import { CHAT_ERRORS, KEY_SECURITY } from "../documentation/documentation.ts";
import { RESPONSE_EXAMPLES } from "../documentation/response-examples.ts";
import { createRouter, type RouteDefinition, type Router } from "../router.ts";

const createResponse: RouteDefinition<"caller"> = {
  access: "caller",
  method: "post",
  path: "/v1/responses",
  operationId: "createResponse",
  tags: ["Chat"],
  summary: "Answer a conversation in the responses format",
  description:
    "Answers are not stored: `store` is reported as false, and the whole conversation is sent with every request, so " +
    "that `previous_response_id`, `conversation`, `prompt` and `background` are refused. An answer cut by its limit has " +
    "the status `incomplete`. With `stream` true the answer is a server-sent event stream whose last event is " +
    "`response.completed`, `response.incomplete` or, after an error in its midst, `response.failed`. Silence is filled " +
    "with comment lines. Tools and items of types that are not listed are ignored; custom tools and namespaces are " +
    "offered to the model as functions, and its calls given back in the client's own terms.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": { schema: documentedRequestSchema, examples: RESPONSE_EXAMPLES },
      },
    },
  },
  responses: {
    200: {
      description: "The answer, or its stream when `stream` is true.",
      content: {
        "application/json": { schema: responseSchema },
        "text/event-stream": { schema: responseEventSchema },
      },
    },
    ...CHAT_ERRORS,
  },
};

/** `POST /v1/responses`. */
export function responsesRoutes(deps: Deps): Router {
  const router = createRouter(chatErrorForm, deps);
  const { sayLimits } = chatErrorForm;
  router.add(
    createResponse,
    createChatHandler(deps, { codec: responsesServer, channel: "responses", sayLimits }),
  );
  return router;
}
