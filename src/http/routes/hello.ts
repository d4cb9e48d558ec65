import { chatErrorForm } from "../error-response.ts";
import { createRouter, type Router } from "../router.ts";

/** `HEAD /api/hello` and `GET`: a coding agent asks whether anybody is there, before it has a key. */
export function helloRoutes(): Router {
  const router = createRouter(chatErrorForm);
  router.hono.get("/api/hello", () => new Response(null));
  return router;
}
