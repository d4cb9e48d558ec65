import { parseCountRequest } from "../../codecs/messages/server/parse-request.ts";
import { countRequestSchema, messagesRequestSchema } from "../../codecs/messages/server/wire.ts";
import {
  messageEventSchema,
  messageSchema,
  tokenCountSchema,
} from "../../codecs/messages/server/wire-answer.ts";
import { messagesServer } from "../../codecs/messages/server.ts";
import type { Deps } from "../../deps.ts";
import { countTokens } from "../../gateway/count-tokens.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readCallBody } from "../bodies/read-call-body.ts";
import { KEY_SECURITY } from "../openapi/documentation.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { createChatHandler } from "./chat-handler.ts";
import {
  MESSAGE_EXAMPLE,
  MESSAGE_EXAMPLES,
  TOKEN_COUNT_EXAMPLE,
  TOKEN_COUNT_EXAMPLES,
} from "./documentation/message-examples.ts";
import { MESSAGES_ERRORS } from "./documentation/messages-documentation.ts";
import { IGNORED_HEADER } from "./headers/ignored-headers.ts";

const createMessage = {
  access: "caller",
  audience: "public",
  channel: "messages",
  modelCall: true,
  method: "post",
  path: "/v1/messages",
  operationId: "createMessage",
  tags: ["Chat"],
  summary: "Answer a conversation in the messages format",
  description:
    "The answer's `model` is the id that truly answered: a missing or unknown name takes the default chat model. An " +
    "assistant is called by its name, id or slug; then `model` is its name, and `ext` has the model and the sources. " +
    "With `stream` true the answer is a server-sent event stream that ends with `message_stop`; an error after its " +
    "start is an `error` event, and nothing follows it. Silence is filled with `ping` events. Any version and any beta " +
    "header is accepted; `thread` is refused with `details.error_code` `thread_unsupported_request`, upon which " +
    "Anthropic's tool runner sends the whole conversation; tools that run on a vendor's own servers and what came of " +
    "them are ignored, and those that Anthropic's models know and the client runs go to these models alone. The input of a " +
    "call that the limit cut off is its text as `{value}`.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": { schema: messagesRequestSchema, examples: MESSAGE_EXAMPLES },
      },
    },
  },
  responses: {
    200: {
      description: "The answer, or its stream when `stream` is true.",
      headers: IGNORED_HEADER,
      content: {
        "application/json": { schema: messageSchema, example: MESSAGE_EXAMPLE },
        "text/event-stream": { schema: messageEventSchema },
      },
    },
    ...MESSAGES_ERRORS,
  },
} satisfies RouteDefinition<"caller">;

const countMessageTokens: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  modelCall: true,
  method: "post",
  path: "/v1/messages/count_tokens",
  operationId: "countMessageTokens",
  tags: ["Chat"],
  summary: "Count the tokens of a request in the messages format",
  description:
    "Counted by the tokenizer of the model that would answer; where its server has none the figure is an estimate, and " +
    "the answer says so by the header `x-token-count: estimated`. Nothing is metered: it counts in the key's requests a " +
    "minute, and against no other limit. A key of which a limit is 0 or used up may not count either.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": { schema: countRequestSchema, examples: TOKEN_COUNT_EXAMPLES },
      },
    },
  },
  responses: {
    200: {
      description: "The count.",
      content: { "application/json": { schema: tokenCountSchema, example: TOKEN_COUNT_EXAMPLE } },
    },
    ...MESSAGES_ERRORS,
  },
};

/** `POST /v1/messages` and `POST /v1/messages/count_tokens`. */
export function messagesRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { channel } = createMessage;
  router.add(createMessage, createChatHandler(deps, { codec: messagesServer, channel }));
  router.add(countMessageTokens, async (context, caller) => {
    const open = openQuietCall(deps, context);
    try {
      const { signal } = open;
      const early = { caller, channel, open, countsInMinute: true } as const;
      const { body, text } = await readCallBody(deps, context, early);
      const request = parseCountRequest(body, text);
      const call = { caller, signal };
      const { inputTokens, isEstimated } = await countTokens(deps.gateway, call, request);
      const response = jsonResponse({ input_tokens: inputTokens });
      if (isEstimated) response.headers.set("x-token-count", "estimated");
      return response;
    } finally {
      open.close();
    }
  });
  return router;
}
