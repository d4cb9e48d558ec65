import { z } from "@hono/zod-openapi";
import type { Model } from "../../backends/backend.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { KEY_ERRORS, KEY_SECURITY, refusal } from "../documentation.ts";
import { chatErrorForm } from "../error-response.ts";
import { jsonResponse } from "../json-response.ts";
import { createRouter, type RouteDefinition, type Router } from "../router.ts";

const model = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: z.number().int().openapi({ description: "Unix seconds; 0 when not known." }),
    owned_by: z.string(),
    type: z.literal("model"),
    display_name: z.string(),
    created_at: z.string(),
    max_input_tokens: z.number().int().nullable().openapi({ description: "Context in tokens." }),
  })
  .openapi("Model");

const modelList = z
  .object({
    object: z.literal("list"),
    data: z.array(model),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .openapi("ModelList");

const listModels: RouteDefinition = {
  method: "get",
  path: "/v1/models",
  operationId: "listModels",
  tags: ["Models"],
  summary: "List the chat models",
  description:
    "One body that the client libraries of both large vendors read. Embedding models are not listed.",
  security: KEY_SECURITY,
  responses: {
    200: { description: "The models.", content: { "application/json": { schema: modelList } } },
    ...KEY_ERRORS,
  },
};

const getModel: RouteDefinition = {
  method: "get",
  path: "/v1/models/{model}",
  operationId: "getModel",
  tags: ["Models"],
  summary: "Show one chat model",
  security: KEY_SECURITY,
  request: { params: z.object({ model: z.string() }) },
  responses: {
    200: { description: "The model.", content: { "application/json": { schema: model } } },
    404: refusal("No such model is listed."),
    ...KEY_ERRORS,
  },
};

/** `GET /v1/models` and `GET /v1/models/{model}`; ids may hold slashes and colons. */
export function modelsRoutes(deps: Deps): Router {
  const router = createRouter(chatErrorForm);
  router.add(listModels, async (context) => {
    deps.authenticate(context.req.raw.headers, context.env.arrivedAt);
    const models = await deps.gateway.models.list();
    return jsonResponse({
      object: "list",
      data: models.map(modelCard),
      has_more: false,
      first_id: models[0]?.id ?? null,
      last_id: models.at(-1)?.id ?? null,
    });
  });
  router.add(getModel, async (context) => {
    deps.authenticate(context.req.raw.headers, context.env.arrivedAt);
    const id = context.req.param("model");
    const found = (await deps.gateway.models.list()).find((candidate) => candidate.id === id);
    if (found === undefined) {
      throw new ServiceError("model_not_found", "No such model is listed; see GET /v1/models.", {
        param: "model",
      });
    }
    return jsonResponse(modelCard(found));
  });
  return router;
}

function modelCard({ id, created, ownedBy, contextLength }: Model) {
  return {
    id,
    object: "model",
    created,
    owned_by: ownedBy,
    type: "model",
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: contextLength ?? null,
  };
}
