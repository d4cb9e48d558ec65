import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { count, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const watchedFolder = z
  .object({
    object: z.literal("watched_folder"),
    folder: z.string(),
    state: z.string(),
    since: unixTime,
    cause: z.string().nullable().openapi({ description: "Why it is away or waits." }),
    files: count.nullable().openapi({ description: "At the last look of this replica." }),
    checked_at: unixTime.nullable(),
  })
  .openapi("WatchedFolder");
const folderList = z
  .object({ object: z.literal("list"), data: z.array(watchedFolder) })
  .openapi("WatchedFolderList");

const LIST = resourceRoute({
  path: "/api/admin/watched-folders",
  method: "get",
  access: "administrator",
  tokens: "watched_folders",
  tag: "Events",
  operationId: "listWatchedFolders",
  summary: "List the folders that are watched for files",
  answer: { description: "All of them, as this replica sees them.", schema: folderList },
});

/** `/api/admin/watched-folders`: the state of the folders that events come from. */
export function watchedFoldersRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(LIST, () => jsonResponse(toJson(folderList, { data: deps.watchedFolders.list() })));
  return router;
}
