import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import type { Readiness } from "../../operations/health.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { orNull } from "../fields.ts";
import { licenseState } from "../license-state.ts";
import { NO_SECURITY, refusal } from "../openapi/documentation.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const ENGINE_PATIENCE_MS = 1_000;

/** Null while the server starts: `while-starting.ts` answers then. */
const license = orNull(licenseState);

const health = z
  .object({
    status: z.enum(["ok", "starting"]),
    version: z.string(),
    backend: z.string(),
    license,
  })
  .openapi("Health");

const readiness = z
  .object({
    ready: z.boolean(),
    failed: z.array(z.string()).optional(),
    checks: z.record(z.string(), z.boolean()),
    hints: z.record(z.string(), z.string()).optional(),
    bi: z.string().optional().openapi({
      description:
        "Where the PostgreSQL port is enabled: `open`, or why it is not. It has no say in `ready`.",
    }),
  })
  .catchall(z.literal("unavailable"))
  .openapi("Readiness");

const llm = z.object({ backend: z.enum(["vllm", "ollama"]), reachable: z.boolean() });

const gatewayHealth: RouteDefinition<"open"> = {
  access: "open",
  audience: "public",
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
      content: {
        "application/json": { schema: z.object({ ok: z.boolean(), license, llm }) },
      },
    },
    400: refusal("The request line or a header is malformed."),
  },
};

const MONITORED = { method: "get", access: "open", tag: "Health" } as const;
const PROPERTIES = { probe: true, anyAddress: true } as const;

const apiHealth = {
  ...resourceRoute({
    ...MONITORED,
    path: "/api/health",
    operationId: "getHealth",
    summary: "Tell that the server answers",
    answer: { description: "Its version and license.", schema: health },
  }),
  ...PROPERTIES,
};

const ready = resourceRoute({
  ...MONITORED,
  path: "/api/ready",
  operationId: "getReadiness",
  summary: "Tell whether the server should be sent calls",
  answer: { description: "It is ready.", schema: readiness },
});
const apiReady = {
  ...ready,
  ...PROPERTIES,
  responses: {
    ...ready.responses,
    503: {
      description: "It is not ready.",
      content: { "application/json": { schema: readiness } },
    },
  },
};

/** `GET /v1/health`, `GET /api/health`, `GET /api/ready`: open to all, and independent of other failures. */
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

/** Logs the state that monitors see when it changes, instead of on every request. */
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

/** Returns false for an engine whose first check takes too long, until it has answered. */
function withinPatience(reachable: Promise<boolean>): Promise<boolean> {
  return within(reachable, ENGINE_PATIENCE_MS, () => new Error("late")).catch(() => false);
}
