import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { readiness } from "../../operations/health.ts";
import { NO_SECURITY } from "../documentation.ts";
import { chatErrorForm } from "../error-response.ts";
import { jsonResponse } from "../json-response.ts";
import { createRouter, type RouteDefinition, type Router } from "../router.ts";

const license = z
  .object({
    valid: z.boolean(),
    in_grace: z.boolean(),
    expires_at: z.string().nullable(),
    days_left: z.number().int().nullable(),
    warning: z.string().nullable(),
  })
  .openapi("License");

const llm = z.object({ backend: z.enum(["vllm", "ollama"]), reachable: z.boolean() });

const gatewayHealth: RouteDefinition = {
  method: "get",
  path: "/v1/health",
  operationId: "getGatewayHealth",
  tags: ["Health"],
  summary: "Tell whether calls can be answered",
  description:
    "Always 200. `ok` is true when the local engine is reachable and the license is not invalid.",
  security: NO_SECURITY,
  responses: {
    200: {
      description: "The state.",
      content: { "application/json": { schema: z.object({ ok: z.boolean(), license, llm }) } },
    },
  },
};

/** `GET /v1/health`, `GET /api/health`, `GET /api/ready`: open to all, answering whatever else fails. */
export function healthRoutes(deps: Deps): Router {
  const router = createRouter(chatErrorForm);
  const backend = deps.settings.LLM_BACKEND;

  router.add(gatewayHealth, async () => {
    const reachable = await deps.gateway.models.reachable();
    const state = deps.license();
    return jsonResponse({
      ok: reachable && state.valid,
      license: state,
      llm: { backend, reachable },
    });
  });
  router.hono.get("/api/health", () =>
    jsonResponse({ status: "ok", version: deps.version, backend, license: deps.license() }),
  );
  router.hono.get("/api/ready", async () => {
    const { ready, report } = await readiness(deps.readiness);
    return jsonResponse(report, ready ? 200 : 503);
  });
  return router;
}
