import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const fileConnection = z
  .object({
    object: z.literal("file_connection"),
    name: z.string().openapi({ description: "Assistants, vector stores and tools name it." }),
    watched: z.boolean().openapi({
      description: "One of WATCH_DIRS: its files fire events, and a vector store can follow it.",
    }),
  })
  .openapi("FileConnection", {
    example: { object: "file_connection", name: "workspace", watched: false },
  });
const connectionList = z
  .object({ object: z.literal("list"), data: z.array(fileConnection) })
  .openapi("FileConnectionList");

const LIST = resourceRoute({
  path: "/api/admin/file-connections",
  method: "get",
  access: "administrator",
  tokens: "closed",
  tag: "System",
  operationId: "listFileConnections",
  summary: "List the folders of the server that tools and vector stores may read",
  description: "WORKSPACE_DIR, and each of WATCH_DIRS by the last level of its path.",
  answer: { description: "All of them.", schema: connectionList },
});

/** `GET /api/admin/file-connections`. */
export function fileConnectionsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(LIST, () =>
    jsonResponse({
      object: "list",
      data: deps.knowledge.fileConnections.list().map(({ name, isWatched }) => ({
        ...{ object: "file_connection", name, watched: isWatched },
      })),
    }),
  );
  return router;
}
