import { ServiceError } from "../../../core/service-error.ts";
import { errorResponse } from "../../answers/error-response.ts";
import { areaAt } from "./areas.ts";
import type { RequestContext } from "./route.ts";
import type { RouteTable } from "./route-table.ts";

/** The path of the console, unless the operator turns it off. */
const CONSOLE = "/console/";
/** The path of the reference, unless the operator hides it. */
const REFERENCE = "/v1/docs";

/**
 * Answers a request that no route serves. The answer is 405 with the methods when the path is served by others, and
 * otherwise 404. A path of a resource that has moved is redirected, for every method. A browser that begins at `/` is
 * redirected to the console, or else to the reference.
 */
export function refuseUnknownPath(table: RouteTable, context: RequestContext): Response {
  const { method } = context.req;
  const { errorForm, path, requestId } = context.env;
  const { movedTo, hint: ownHint } = areaAt(method, path);
  if (movedTo !== undefined) return context.redirect(moved(context.req.url, movedTo), 308);
  const allowed = table.methodsAt(path);
  if (allowed.length === 0) {
    const isServed = (place: string) => table.methodsAt(place).length > 0;
    const first = [CONSOLE, REFERENCE].find(isServed);
    if (first !== undefined && path === "/" && isBrowser(context)) return context.redirect(first);
    const hint = isServed(REFERENCE) ? `; GET ${REFERENCE} lists what is` : "";
    const message = ownHint ?? `Nothing is served at this path${hint}.`;
    return errorResponse(new ServiceError("not_found", message), requestId, errorForm);
  }
  const error = new ServiceError(
    "method_not_allowed",
    `${method} is not served here; use ${allowed.join(" or ")}.`,
  );
  const response = errorResponse(error, requestId, errorForm);
  response.headers.set("allow", allowed.join(", "));
  return response;
}

/** Returns the new place of a path whose prefix has as many parts as the old one. What follows stays as it was sent. */
function moved(url: string, movedTo: string): string {
  const { pathname, search } = new URL(url);
  const rest = pathname.split("/").slice(movedTo.split("/").length);
  return [movedTo, ...rest].join("/") + search;
}

function isBrowser({ req }: RequestContext): boolean {
  return req.method === "GET" && (req.header("accept") ?? "").includes("text/html");
}
