import { ServiceError } from "../../core/service-error.ts";
import { errorResponse } from "../answers/error-response.ts";
import { areaAt } from "./areas.ts";
import type { RequestContext } from "./route.ts";
import type { RouteTable } from "./route-table.ts";

/** The path of the reference, unless the operator hides it. */
const REFERENCE = "/v1/docs";

/**
 * Answers a request that no route serves. The answer is 405 with the methods when the path is served by others, and
 * otherwise 404. A browser that begins at `/` is redirected to the reference.
 */
export function refuseUnknownPath(table: RouteTable, context: RequestContext): Response {
  const { method } = context.req;
  const { errorForm, path, requestId } = context.env;
  const allowed = table.methodsAt(path);
  if (allowed.length === 0) {
    const hasReference = table.methodsAt(REFERENCE).length > 0;
    if (hasReference && path === "/" && isBrowser(context)) return context.redirect(REFERENCE);
    const hint = hasReference ? `; GET ${REFERENCE} lists what is` : "";
    const message = areaAt(method, path).hint ?? `Nothing is served at this path${hint}.`;
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

function isBrowser({ req }: RequestContext): boolean {
  return req.method === "GET" && (req.header("accept") ?? "").includes("text/html");
}
