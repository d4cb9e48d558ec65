import type { Settings } from "../../config/settings.ts";
import { ServiceError } from "../../core/service-error.ts";
import { createRequestIds } from "../../lib/id.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { type ErrorForm, errorResponse } from "../answers/error-response.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { waitingPage } from "../console/waiting-page.ts";
import { areaAt } from "../request/routes/areas.ts";
import { routedPath } from "../request/routes/route-table.ts";
import type { ServeOptions } from "./server.ts";

/** The pages of the console, but none of its files. */
const CONSOLE = /^\/console(?:$|\/(?!assets\/|build\.json$))/;
const HINT = "The server is starting: it opens its database and brings it up to date.";

interface StartingServer {
  readonly version: string;
  readonly settings: Pick<Settings, "LLM_BACKEND" | "CONSOLE_ENABLED">;
}

/**
 * Creates the answers between binding the port and serving calls. The port is bound first, so that a start without it
 * creates no database and shows no secret.
 */
export function createStartingAnswer({ version, settings }: StartingServer): ServeOptions["fetch"] {
  const nextRequestId = createRequestIds();
  const health = { status: "starting", version, backend: settings.LLM_BACKEND, license: null };
  const probes: Readonly<Record<string, readonly [JsonObject, number]>> = {
    "/api/health": [health, 200],
    "/v1/health": [
      { ok: false, license: null, llm: { backend: settings.LLM_BACKEND, reachable: false } },
      200,
    ],
    "/api/ready": [
      {
        ready: false,
        failed: ["starting"],
        checks: { db: false, migrations: false, llm: false },
        hints: { starting: HINT },
      },
      503,
    ],
  };
  return (request, { path }) => {
    const requestId = nextRequestId(Date.now());
    const [body, status] = probes[path] ?? [];
    const { errorForm } = areaAt(request.method, routedPath(path));
    const isConsole = settings.CONSOLE_ENABLED && CONSOLE.test(path);
    const response =
      body === undefined ? refuse(isConsole, requestId, errorForm) : jsonResponse(body, status);
    response.headers.set("x-request-id", requestId);
    // An unread body must not be parsed as the next request.
    response.headers.set("connection", "close");
    return response;
  };
}

function refuse(isConsole: boolean, requestId: string, errorForm: ErrorForm): Response {
  return isConsole ? waitingPage() : errorResponse(isStarting(), requestId, errorForm);
}

function isStarting(): ServiceError {
  return new ServiceError("overloaded", "The server is starting; send the request again.", {
    retryAfterSeconds: 1,
  });
}
