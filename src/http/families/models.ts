import { z } from "@hono/zod-openapi";
import type { Model } from "../../backends/backend.ts";
import { isNameOf } from "../../backends/models/list-names.ts";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { chatErrorForm, type ErrorForm } from "../answers/error-response.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { pageOf, pageSchema } from "../answers/page-of.ts";
import { KEY_ERRORS, KEY_SECURITY, refusal } from "../openapi/documentation.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { assistantCards } from "./assistant-card.ts";
import { messagesErrorForm } from "./messages-error-form.ts";
import { type ModelCard, modelCard, modelSchema } from "./model-card.ts";

const modelList = z
  .object({
    object: z.literal("list"),
    data: z.array(modelSchema),
    has_more: z.boolean().openapi({ description: "There are further models behind this page." }),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .openapi("ModelList");

const modelType = z
  .enum(["chat", "embedding"])
  .optional()
  .openapi({ description: "What the models are for; unset is `chat`." });

const listModels: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  errorForm: formOf,
  method: "get",
  path: "/v1/models",
  operationId: "listModels",
  tags: ["Models"],
  summary: "List the chat models and the assistants",
  description:
    "Chat models by id, and then the assistants that the caller may use, by name. A key that is bound to an assistant " +
    "sees only that. One body that the client libraries of both large vendors read, and page through. Embedding models are listed with " +
    "`type=embedding` alone. A client that sends `anthropic-version` gets errors in the messages form.",
  security: KEY_SECURITY,
  request: { query: pageSchema.extend({ type: modelType }) },
  responses: {
    200: { description: "The models.", content: { "application/json": { schema: modelList } } },
    ...KEY_ERRORS,
    400: refusal("A parameter of the page is wrong; `param` names it."),
  },
};

const getModel: RouteDefinition<"caller"> = {
  access: "caller",
  audience: "public",
  errorForm: formOf,
  encodedSlashes: true,
  method: "get",
  path: "/v1/models/{model}",
  operationId: "getModel",
  tags: ["Models"],
  summary: "Show one chat model",
  description:
    "Ids may hold slashes and colons, encoded or plain. Ollama's `:latest` may be left out.",
  security: KEY_SECURITY,
  request: { params: z.object({ model: z.string() }) },
  responses: {
    200: { description: "The model.", content: { "application/json": { schema: modelSchema } } },
    404: refusal("No such model is listed."),
    ...KEY_ERRORS,
  },
};

/**
 * `GET /v1/models` and `GET /v1/models/{model}`. Both families use these routes, and each gets errors in its own form.
 */
export function modelsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(listModels, async ({ req }, caller) => {
    const query = new URL(req.url).searchParams;
    const { items, hasMore } = pageOf(await cardsFor(deps, caller, query.get("type")), query);
    return jsonResponse({
      object: "list",
      data: items,
      has_more: hasMore,
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
    });
  });
  router.add(getModel, async ({ req }, caller) =>
    jsonResponse(await findCard(deps, caller, req.param("model") ?? "")),
  );
  return router;
}

/** Throws `invalid_value` for a type that does not exist. */
async function cardsFor(
  deps: Deps,
  caller: Caller,
  type: string | null,
): Promise<readonly ModelCard[]> {
  if (type === "embedding") {
    return isBound(caller) ? [] : (await embeddingModels(deps)).map(modelCard);
  }
  if (type !== null && type !== "chat") {
    throw invalidValue(["type"], 'one of "chat", "embedding"', type);
  }
  const models = isBound(caller) ? [] : await listedModels(deps);
  const assistants = deps.knowledge.assistants.known.list(caller);
  const cards = await assistantCards(assistants, deps.gateway.models, caller);
  return [...models.map(modelCard), ...cards];
}

/** A key that is bound to an assistant calls nothing else, so nothing else is listed for it. */
function isBound(caller: Caller): boolean {
  return caller.kind === "key" && caller.assistantId !== null;
}

/** Lists the embedding models. Their server reports only their names. */
async function embeddingModels({ gateway, settings }: Deps): Promise<readonly Model[]> {
  const backend = settings.LLM_BACKEND;
  const names = new Set(await gateway.embeddings.list());
  return [...names].map((id) => ({
    id,
    backend,
    created: 0,
    ownedBy: backend,
    contextLength: undefined,
    tools: false,
    vision: false,
    documents: false,
    audio: false,
    thinking: false,
  }));
}

/** Lists each id once. Of equal ids the first one is used, as it is for a call. */
async function listedModels({ gateway }: Deps): Promise<readonly Model[]> {
  const models = new Map<string, Model>();
  for (const model of await gateway.models.list()) {
    if (!models.has(model.id)) models.set(model.id, model);
  }
  return [...models.values()];
}

/** Throws `model_not_found` for a word that names neither a model nor an assistant that exists for the caller. */
async function findCard(deps: Deps, caller: Caller, word: string): Promise<ModelCard> {
  const models = isBound(caller) ? [] : await listedModels(deps);
  const found = models.find(({ id }) => id === word) ?? models.find(({ id }) => isNameOf(id, word));
  if (found !== undefined) return modelCard(found);
  const assistant = deps.knowledge.assistants.known.find(word, caller);
  const [card] = await assistantCards(assistant ? [assistant] : [], deps.gateway.models, caller);
  if (card !== undefined) return card;
  throw new ServiceError("model_not_found", "No such model is listed; see GET /v1/models.", {
    param: "model",
  });
}

function formOf({ headers }: Request): ErrorForm {
  return headers.has("anthropic-version") ? messagesErrorForm : chatErrorForm;
}
