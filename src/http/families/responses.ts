import { z } from "@hono/zod-openapi";
import { findResponse, forgetResponse } from "../../codecs/responses/server/remembered-response.ts";
import { documentedRequestSchema } from "../../codecs/responses/server/wire.ts";
import { responseEventSchema } from "../../codecs/responses/server/wire-events.ts";
import { responseSchema } from "../../codecs/responses/server/wire-response.ts";
import { responsesServer } from "../../codecs/responses/server.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { CHAT_ERRORS, KEY_ERRORS, KEY_SECURITY, refusal } from "../openapi/documentation.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { createChatHandler } from "./chat-handler.ts";
import { RESPONSE_EXAMPLES } from "./documentation/response-examples.ts";
import { IGNORED_HEADER } from "./headers/ignored-headers.ts";

const createResponse = {
  access: "caller",
  audience: "public",
  channel: "responses",
  modelCall: true,
  method: "post",
  path: "/v1/responses",
  operationId: "createResponse",
  tags: ["Chat"],
  summary: "Answer a conversation in the responses format",
  description:
    "Unless `store` is false, the answer is remembered: `previous_response_id` continues it, and `item_reference` " +
    "stands for one of its items. It is kept in the memory of one process, for an hour after its last use and while " +
    "`RESPONSES_MEMORY_MB` has room, for the same key or user only; nothing is written to a disk. A restart and other " +
    "replicas know nothing of it: what is no longer remembered is refused with 400 " +
    "(`previous_response_not_found`, or `Item with id … not found`), and the client then sends the whole conversation. " +
    "`conversation`, `prompt` and `background` are refused. An answer cut by its limit has " +
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
      headers: IGNORED_HEADER,
      content: {
        "application/json": { schema: responseSchema },
        "text/event-stream": { schema: responseEventSchema },
      },
    },
    ...CHAT_ERRORS,
  },
} satisfies RouteDefinition<"caller">;

const rememberedId = z.object({ response_id: z.string().openapi({ description: "Its `id`." }) });
const NOT_REMEMBERED = refusal("No such response of the same key or user is remembered.");

const getResponse: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  method: "get",
  path: "/v1/responses/{response_id}",
  operationId: "getResponse",
  tags: ["Chat"],
  summary: "Show a remembered response",
  description:
    "The answer as it was given. `stream` is refused with 400, because its events are not kept; other query parameters " +
    "are ignored.",
  security: KEY_SECURITY,
  request: { params: rememberedId },
  responses: {
    200: {
      description: "The response.",
      content: { "application/json": { schema: responseSchema } },
    },
    404: NOT_REMEMBERED,
    ...KEY_ERRORS,
  },
};

const deleteResponse: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  method: "delete",
  path: "/v1/responses/{response_id}",
  operationId: "deleteResponse",
  tags: ["Chat"],
  summary: "Forget a response",
  description: "Neither it nor its items can be referred to afterwards.",
  security: KEY_SECURITY,
  request: { params: rememberedId },
  responses: {
    200: {
      description: "It is forgotten.",
      content: {
        "application/json": {
          schema: z.object({
            id: z.string(),
            object: z.literal("response"),
            deleted: z.literal(true),
          }),
        },
      },
    },
    404: NOT_REMEMBERED,
    ...KEY_ERRORS,
  },
};

/** `POST /v1/responses`, and the routes for its remembered answers. */
export function responsesRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { answers: memory } = deps.gateway;
  const { channel } = createResponse;
  router.add(createResponse, createChatHandler(deps, { codec: responsesServer, channel, memory }));
  router.add(getResponse, ({ req }, caller) => {
    const id = req.param("response_id") ?? "";
    if (req.query("stream") === "true") throw noEvents();
    const found = memory && findResponse(memory.of(caller), id);
    if (found === undefined) throw notRemembered(id);
    const headers = { "content-type": "application/json" };
    return new Response(found, { headers });
  });
  router.add(deleteResponse, ({ req }, caller) => {
    const id = req.param("response_id") ?? "";
    const isForgotten = memory !== undefined && forgetResponse(memory.of(caller), id);
    if (!isForgotten) throw notRemembered(id);
    return jsonResponse({ id, object: "response", deleted: true });
  });
  return router;
}

function noEvents(): ServiceError {
  return new ServiceError(
    "unsupported_parameter",
    "The events of a remembered response are not kept: leave `stream` out to get it whole.",
    { param: "stream" },
  );
}

function notRemembered(id: string): ServiceError {
  const shown = id.slice(0, MAX_SHOWN_LENGTH);
  return new ServiceError("not_found", `Response with id '${shown}' not found.`);
}

const MAX_SHOWN_LENGTH = 100;
