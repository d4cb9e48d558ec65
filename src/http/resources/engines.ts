import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { count, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const engine = z
  .object({
    object: z.literal("engine"),
    backend: z.string().openapi({
      description:
        "`vllm` or `ollama`, the local engine; a cloud; `embeddings` and `speech`: servers for these alone.",
    }),
    host: z.string().openapi({ description: "Its name and port." }),
    state: z.enum(["up", "down", "unknown"]).openapi({
      description: "As its last answer or silence has shown; `unknown` until it was asked.",
    }),
    since: unixTime.nullable().openapi({ description: "Null while the state is unknown." }),
    open_calls: count.openapi({ description: "Calls of clients under way, of this replica." }),
    models: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Ids of its chat models; null where it lists none." }),
    failure: z.string().nullable().openapi({
      description: "Why its list of models could not be read last; null when it could.",
    }),
  })
  .openapi("Engine", {
    example: {
      object: "engine",
      backend: "vllm",
      host: "gpu-1:8000",
      state: "up",
      since: "2026-09-21T13:33:20.000Z",
      open_calls: 4,
      models: ["qwen3-32b"],
      failure: null,
    },
  });
const engineList = z
  .object({ object: z.literal("list"), data: z.array(engine) })
  .openapi("EngineList");

const COLLECTION = {
  path: "/api/admin/engines",
  access: "administrator",
  tokens: "closed",
  tag: "Models",
} as const;

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listEngines",
  summary: "List the model servers",
  description:
    "Each address of the local engine, the clouds, and servers of embeddings and speech, as the replica that answers " +
    "sees them. None of them is asked.",
  answer: { description: "The servers, the local engine first.", schema: engineList },
});

const RECHECK = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/recheck`,
  method: "post",
  operationId: "recheckEngines",
  summary: "Ask the model servers for their models",
  description:
    "They are asked every 15 seconds anyway; this asks now, and answers when they have. Clouds are not asked: the " +
    "settings name their models.",
  answer: {
    description: "The servers as they are now, the local engine first.",
    schema: engineList,
  },
});

/** `/api/admin/engines`. */
export function enginesRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const list = async () => {
    const engines = await deps.engines();
    const data = engines.map((one) => ({
      ...one,
      since: one.since ?? null,
      models: one.models ?? null,
      failure: one.failure ?? null,
    }));
    return jsonResponse(toJson(engineList, { data }));
  };
  router.add(LIST, list);
  router.add(RECHECK, async () => {
    await deps.gateway.models.refresh();
    return list();
  });
  return router;
}
