import { z } from "@hono/zod-openapi";
import type { Model } from "../../backends/backend.ts";
import type { Deps } from "../../deps.ts";
import { mayUse } from "../../knowledge/rights.ts";
import { shareRecent } from "../../lib/concurrency.ts";
import { within } from "../../lib/time/within.ts";
import { outboxFigures } from "../../queue/figures.ts";
import { countWaitingTools } from "../../tools/servers/tool-servers.ts";
import { countFailingWorkflows } from "../../workflows/records/workflows.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { count, orNull } from "../fields.ts";
import { licenseState } from "../license-state.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const ENGINE_PATIENCE_MS = 1_000;
/** However many consoles poll, the database is asked whether it answers, and for its figures, this often. */
const FIGURES_FRESH_MS = 2_000;

const names = z.array(z.string());
const administration = z
  .object({
    hints: z
      .record(z.string(), z.string())
      .openapi({ description: "What to do about each of `failed`." }),
    dead_events: count.openapi({ description: "Events whose delivery was given up." }),
    tools_waiting: count.openapi({
      description: "Tools of enabled tool servers that wait for approval, new and changed ones.",
    }),
    database: z.enum(["postgres", "embedded"]),
  })
  .openapi("StatusForAdministrators");

const status = z
  .object({
    object: z.literal("status"),
    version: z.string(),
    build: z.object({
      runtime: z.enum(["bun", "node"]),
      runtime_version: z.string(),
      platform: z.string().openapi({ example: "linux-x64" }),
    }),
    ready: z.boolean(),
    failed: names.openapi({ description: "Checks that make the server unready." }),
    unavailable: names.openapi({ description: "Further checks that failed." }),
    engine: z.object({
      backend: z.enum(["vllm", "ollama"]),
      reachable: z.boolean(),
      simulated: z.boolean().openapi({
        description: "Answers come from the built-in simulator, and mean nothing.",
      }),
      models: count.openapi({ description: "The chat models that it lists." }),
    }),
    license: licenseState,
    failing_workflows: count.openapi({
      description: "Workflows that the caller sees whose last run failed.",
    }),
    administration: orNull(administration).openapi({
      description: "For administrators; null for others.",
    }),
  })
  .openapi("Status", {
    example: {
      object: "status",
      version: "1.0.0",
      build: { runtime: "bun", runtime_version: "1.4.5", platform: "linux-x64" },
      ready: true,
      failed: [],
      unavailable: [],
      engine: { backend: "vllm", reachable: true, simulated: false, models: 2 },
      license: { valid: true, in_grace: false, expires_at: null, days_left: null, warning: null },
      failing_workflows: 0,
      administration: { hints: {}, dead_events: 0, tools_waiting: 0, database: "postgres" },
    },
  });

const SHOW = resourceRoute({
  path: "/api/status",
  method: "get",
  access: "session",
  tokens: "closed",
  tag: "System",
  operationId: "getStatus",
  summary: "Show how the server is",
  description: "Always 200, for consoles that ask every few seconds; monitors ask `/api/ready`.",
  answer: { description: "The state.", schema: status },
});

/** `GET /api/status`. */
export function statusRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { settings, version, license, gateway } = deps;
  const { database, clock } = deps.access;
  const { bun } = process.versions as { readonly bun?: string };
  const build = {
    runtime: bun === undefined ? "node" : "bun",
    runtime_version: bun ?? process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  const checked = shareRecent(deps.readiness, FIGURES_FRESH_MS);
  const failing = shareRecent(() => countFailingWorkflows(deps.workflows), FIGURES_FRESH_MS);
  const events = shareRecent(
    () => database.ask((db) => outboxFigures(db, clock.now())),
    FIGURES_FRESH_MS,
  );
  router.add(SHOW, async (_, caller) => {
    const [readiness, engine] = await Promise.all([checked(), engineOf(gateway.models)]);
    const { ready, failed, report } = readiness;
    const unavailable = Object.keys(report).filter((name) => report[name] === "unavailable");
    const isAdministrator = caller.role === "admin";
    const seen = (await failing()).filter((counted) => mayUse(counted, caller));
    return jsonResponse({
      object: "status",
      version,
      build,
      ready,
      failed: [...failed],
      unavailable,
      engine: { backend: settings.LLM_BACKEND, ...engine },
      license: license.state(),
      failing_workflows: seen.reduce((sum, { total }) => sum + total, 0),
      administration: isAdministrator
        ? {
            hints: report["hints"] ?? {},
            dead_events: (await events()).dead,
            tools_waiting: countWaitingTools(deps.toolServers),
            database: settings.DATABASE_URL === undefined ? "embedded" : "postgres",
          }
        : null,
    });
  });

  async function engineOf({ reachable, list }: Deps["gateway"]["models"]) {
    const [isReachable, listed] = await Promise.all([
      withinPatience(reachable(), false),
      withinPatience<readonly Model[]>(list(), []),
    ]);
    const own = listed.filter(({ backend }) => backend === settings.LLM_BACKEND);
    const simulated = own.some(({ isSimulated }) => isSimulated === true);
    return { reachable: isReachable, simulated, models: own.length };
  }

  return router;
}

/** Returns `otherwise` for an engine that does not answer in time. */
function withinPatience<Value>(asking: Promise<Value>, otherwise: Value): Promise<Value> {
  return within(asking, ENGINE_PATIENCE_MS, () => new Error("late")).catch(() => otherwise);
}
