import {
  chatCompletionChunkSchema,
  chatCompletionRequestSchema,
  chatCompletionSchema,
} from "../../codecs/chat-completions/server/wire.ts";
import { chatCompletionsServer } from "../../codecs/chat-completions/server.ts";
import type { Deps } from "../../deps.ts";
import { CHAT_ERRORS, KEY_SECURITY } from "../openapi/documentation.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { createChatHandler } from "./chat-handler.ts";
import { CHAT_COMPLETION_EXAMPLES } from "./documentation/chat-completion-examples.ts";
import { IGNORED_HEADER } from "./headers/ignored-headers.ts";

const createChatCompletion = {
  access: "caller",
  audience: "public",
  channel: "chat",
  modelCall: true,
  method: "post",
  path: "/v1/chat/completions",
  operationId: "createChatCompletion",
  tags: ["Chat"],
  summary: "Answer a conversation in the chat-completion format",
  description:
    "The answer's `model` is the id that truly answered: a missing or unknown name takes the default chat model. An " +
    "assistant is called by its name, id or slug; then `model` is its name, and `ext` has the model and the sources. " +
    "With `stream` true the answer is a server-sent event stream that ends with `[DONE]`; an error after its start " +
    "is a chunk with `error`. Silence is filled with comment lines.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": {
          schema: chatCompletionRequestSchema,
          examples: CHAT_COMPLETION_EXAMPLES,
        },
      },
    },
  },
  responses: {
    200: {
      description: "The answer, or its stream when `stream` is true.",
      headers: IGNORED_HEADER,
      content: {
        "application/json": { schema: chatCompletionSchema },
        "text/event-stream": { schema: chatCompletionChunkSchema },
      },
    },
    ...CHAT_ERRORS,
  },
} satisfies RouteDefinition<"caller">;

/** `POST /v1/chat/completions`. */
export function chatCompletionsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { channel } = createChatCompletion;
  const handler = createChatHandler(deps, { codec: chatCompletionsServer, channel });
  router.add(createChatCompletion, handler);
  return router;
}
