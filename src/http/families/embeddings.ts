import { encodeEmbeddings } from "../../codecs/embeddings/encode-answer.ts";
import { parseEmbeddingRequest } from "../../codecs/embeddings/parse-request.ts";
import { embeddingListSchema, embeddingRequestSchema } from "../../codecs/embeddings/wire.ts";
import type { Deps } from "../../deps.ts";
import { embed } from "../../gateway/embed.ts";
import { readCallBody } from "../bodies/read-call-body.ts";
import { CHAT_ERRORS, KEY_SECURITY } from "../openapi/documentation.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { EMBEDDING_EXAMPLES, EMBEDDING_LIST_EXAMPLE } from "./documentation/embedding-examples.ts";

const { 404: _noAssistants, ...EMBEDDING_ERRORS } = CHAT_ERRORS;

const createEmbedding = {
  access: "caller",
  audience: "public",
  channel: "embeddings",
  modelCall: true,
  method: "post",
  path: "/v1/embeddings",
  operationId: "createEmbedding",
  tags: ["Embeddings"],
  summary: "Turn texts into vectors",
  description:
    "The answer's `model` is the id that truly answered: a missing name, an unknown one and that of a chat model take " +
    "the default embedding model. An input that is longer than the model's context is refused with " +
    "`context_length_exceeded`, never cut. Metered by an estimate of a token for every four characters.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": { schema: embeddingRequestSchema, examples: EMBEDDING_EXAMPLES },
      },
    },
  },
  responses: {
    200: {
      description: "A vector for each input, in the order of the inputs.",
      content: {
        "application/json": { schema: embeddingListSchema, example: EMBEDDING_LIST_EXAMPLE },
      },
    },
    ...EMBEDDING_ERRORS,
  },
} satisfies RouteDefinition<"caller">;

/** `POST /v1/embeddings`. */
export function embeddingsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(createEmbedding, async (context, caller) => {
    const { requestId, arrivedAt: startedAt, line: observer, trace } = context.env;
    const open = openQuietCall(deps, context);
    try {
      const { signal } = open;
      const { channel } = createEmbedding;
      const { body: given } = await readCallBody(deps, context, { caller, channel, open });
      const request = parseEmbeddingRequest(given);
      const call = { requestId, caller, channel, startedAt, signal, observer, trace };
      const reply = await embed(deps.gateway, call, request);
      const body = encodeEmbeddings(reply, request.encoding);
      const { sayLimits } = context.env.errorForm;
      const said = reply.limits && sayLimits(reply.limits, deps.clock.now());
      return new Response(body, { headers: { "content-type": "application/json", ...said } });
    } finally {
      open.close();
    }
  });
  return router;
}
