import type { Deps } from "../../deps.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { createRouter, type Router } from "../request/router.ts";

/** `HEAD /api/hello` and `GET`: a coding agent asks whether anybody is there, before it has a key. */
export function helloRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(hiddenRoute("get", "/api/hello", "open"), () => new Response(null));
  return router;
}
