import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/within.ts";
import type { Readiness } from "../../operations/health.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { NO_SECURITY, refusal } from "../openapi/documentation.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import type { RouteDefinition } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";

const ENGINE_PATIENCE_MS = 1_000;

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

const gatewayHealth: RouteDefinition<"open"> = {
  access: "open",
  licensed: false,
  traced: false,
  probe: true,
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
    400: refusal("The request line or a header is malformed."),
  },
};

const probe = { probe: true, anyAddress: true } as const;
const apiHealth = { ...hiddenRoute("get", "/api/health", "open"), ...probe };
const apiReady = { ...hiddenRoute("get", "/api/ready", "open"), ...probe };

/** `GET /v1/health`, `GET /api/health`, `GET /api/ready`: open to all, answering whatever else fails. */
export function healthRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { settings, log } = deps;
  const backend = settings.LLM_BACKEND;
  const tellChange = changeTeller(log);

  router.add(gatewayHealth, async () => {
    const reachable = await withinPatience(deps.gateway.models.reachable());
    const state = deps.license.state();
    return jsonResponse({
      ok: reachable && state.valid,
      license: state,
      llm: { backend, reachable },
    });
  });
  router.add(apiHealth, () =>
    jsonResponse({ status: "ok", version: deps.version, backend, license: deps.license.state() }),
  );
  router.add(apiReady, async () => {
    const now = await deps.readiness();
    tellChange(now);
    return jsonResponse(now.report, now.ready ? 200 : 503);
  });
  return router;
}

/** Logs when what watches the server is told another thing than before, and not each time it is told. */
function changeTeller(log: Log): (readiness: Readiness) => void {
  let before = "";
  return ({ ready, failed }) => {
    const now = failed.join();
    if (now === before) return;
    before = now;
    if (ready) log.info("ready again");
    else log.warn({ failed }, "not ready");
  };
}

/** An engine that lets its first look wait counts as not reachable until it has answered. */
function withinPatience(reachable: Promise<boolean>): Promise<boolean> {
  return within(reachable, ENGINE_PATIENCE_MS, () => new Error("late")).catch(() => false);
}
