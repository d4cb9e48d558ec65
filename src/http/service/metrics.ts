import { createHash, timingSafeEqual } from "node:crypto";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { METRICS_CONTENT_TYPE } from "../../operations/metrics/render-metrics.ts";
import type { RouteDefinition } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const OPEN_METRICS =
  "anybody who reaches this server can read /metrics; set METRICS_TOKEN. A proxy's rules for the path are not enough";
const BEARER = /^bearer +(.+)$/i;

const SCRAPE: RouteDefinition<"open"> = {
  method: "get",
  path: "/metrics",
  access: "open",
  audience: "unlisted",
  probe: true,
  responses: {},
};

/**
 * `GET /metrics`: figures for a scraper, served only with METRICS_ENABLED. With METRICS_TOKEN set the scraper must send
 * it as `Authorization: Bearer`; keys and sessions are not accepted. Without METRICS_TOKEN it is open to all.
 */
export function metricsRoutes({ settings, metrics, ...deps }: Deps): Router {
  const router = createRouter(deps);
  if (!settings.METRICS_ENABLED) return router;
  const isLetIn = checkToken(settings.METRICS_TOKEN);
  if (settings.METRICS_TOKEN === undefined && !isLoopback(settings.HOST))
    deps.log.warn(OPEN_METRICS);
  router.add(SCRAPE, async (context) => {
    if (!isLetIn(context.req.raw.headers.get("authorization"))) throw tokenRefused();
    const headers = { "content-type": METRICS_CONTENT_TYPE, "cache-control": "no-store" };
    return new Response(await metrics.collect(), { headers });
  });
  return router;
}

/** Returns true for an address that other machines cannot reach. */
function isLoopback(host: string): boolean {
  return /^(?:127\.|::1$|localhost$)/i.test(host);
}

/** Takes the same time for every text, so that the token cannot be guessed piece by piece. */
function checkToken(token: string | undefined): (authorization: string | null) => boolean {
  if (token === undefined) return () => true;
  const expected = digest(token);
  return (authorization) => {
    const given = BEARER.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(digest(given), expected);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function tokenRefused(): ServiceError {
  return new ServiceError(
    "invalid_credentials",
    "The metrics are for scrapers that send the value of METRICS_TOKEN as 'Authorization: Bearer <token>'.",
  );
}
