import type { Deps } from "../../deps.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const HELLO = resourceRoute({
  path: "/api/hello",
  method: "get",
  access: "open",
  tag: "Health",
  operationId: "hello",
  summary: "Answer that a server is here",
  answer: { description: "It is. The answer is empty." },
});

/** `HEAD /api/hello` and `GET`: a coding agent checks that a server exists, before it has a key. */
export function helloRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(HELLO, () => new Response(null));
  return router;
}
