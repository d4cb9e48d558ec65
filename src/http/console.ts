import { fileURLToPath } from "node:url";
import { ServiceError } from "../core/service-error.ts";
import type { Deps } from "../deps.ts";
import { CONSOLE_HEADERS } from "./console/console-headers.ts";
import { watchBuild } from "./console/current-build.ts";
import { fileAnswer } from "./console/file-answer.ts";
import { waitingPage } from "./console/waiting-page.ts";
import type { RequestContext, RouteDefinition } from "./request/routes/route.ts";
import { createRouter, type Router } from "./request/routes/router.ts";

/** Where `scripts/task/build-console.mjs` puts what it builds. */
const BUILDS = fileURLToPath(new URL("../../dist/console", import.meta.url));
/** Names made from their content are in here, and nothing else. */
const ASSETS = "assets/";
interface Place {
  /** The folder of builds. */
  readonly folder?: string;
  /** Returns milliseconds. */
  readonly now?: () => number;
}

/**
 * Serves the browser console from memory. Every path that is no file is answered with the page, which has its own
 * routes; until there is a build, with a page that loads itself again.
 */
export function consoleRoutes(
  deps: Pick<Deps, "authenticate" | "clock" | "log">,
  { folder = BUILDS, now = () => performance.now() }: Place = {},
): Router {
  const router = createRouter(deps);
  const currentBuild = watchBuild({ folder, log: deps.log, now });

  const showPage = async (headers: Headers) => {
    const build = await currentBuild();
    return build === undefined ? waitingPage() : fileAnswer(build.index, headers, false);
  };
  router.add(get("/console"), ({ req }) => showPage(req.raw.headers));
  router.add(get("/console/"), ({ req }) => showPage(req.raw.headers));
  const refuseFile = (context: RequestContext) => {
    const answer = router.refuse(noSuchFile(), context);
    for (const [name, value] of Object.entries(CONSOLE_HEADERS)) answer.headers.set(name, value);
    return answer;
  };
  router.add(POLLED, async (context) => {
    const build = await currentBuild();
    if (build === undefined) return refuseFile(context);
    return Response.json(
      { id: build.id, watched: build.watched },
      { headers: { ...CONSOLE_HEADERS, "cache-control": "no-store" } },
    );
  });
  router.add(ASSET, async (context) => {
    const build = await currentBuild();
    const file = build?.files.get(context.env.path.slice("/console/".length));
    if (file === undefined) return refuseFile(context);
    return fileAnswer(file, context.req.raw.headers, true);
  });
  router.add(get("/console/{rest}"), async ({ req, env }) => {
    const build = await currentBuild();
    const file = build?.files.get(env.path.slice("/console/".length));
    if (file === undefined || file === build?.index) return showPage(req.raw.headers);
    return fileAnswer(file, req.raw.headers, false);
  });
  return router;
}

function get(path: string): RouteDefinition<"open", "closed"> {
  return {
    method: "get",
    path,
    access: "open",
    tokens: "closed",
    audience: "unlisted",
    responses: {},
  };
}

/** Tabs ask for it all the time, and a page loads dozens of files: their lines matter only when they fail. */
const POLLED = { ...get("/console/build.json"), probe: true };
const ASSET = { ...get(`/console/${ASSETS}{rest}`), probe: true };

/** Not stored, because the next build may have it. */
function noSuchFile(): ServiceError {
  return new ServiceError("not_found", "The console has no such file; load the page again.");
}
