import { ServiceError } from "../../core/service-error.ts";
import { errorResponse } from "../answers/error-response.ts";
import { errorFormAt } from "./messages-path.ts";
import type { RequestContext, Router } from "./router.ts";

/** Where the reference is, unless the operator hides it. */
const REFERENCE = "/v1/docs";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** A path nobody serves is 404, but for a browser that begins at `/`: it is shown the reference; one that is served by other methods is 405 and names them. */
export function refuseUnknownPath(root: Router, context: RequestContext): Response {
  const { path, method } = context.req;
  const isServed = (candidate: string, at: string) =>
    root.hono.router.match(candidate, at)[0].length > 0;
  const allowed = METHODS.filter((candidate) => isServed(candidate, path));
  const { requestId } = context.env;
  const form = errorFormAt(path);
  if (allowed.length === 0) {
    const hasReference = isServed("GET", REFERENCE);
    if (hasReference && path === "/" && isBrowser(context)) return context.redirect(REFERENCE);
    const error = notFound(path, hasReference);
    return errorResponse(error, requestId, form);
  }
  const error = new ServiceError(
    "method_not_allowed",
    `${method} is not served here; use ${allowed.join(" or ")}.`,
  );
  const response = errorResponse(error, requestId, form);
  response.headers.set("allow", allowed.join(", "));
  return response;
}

function isBrowser({ req }: RequestContext): boolean {
  return req.method === "GET" && (req.header("accept") ?? "").includes("text/html");
}

function notFound(path: string, hasReference: boolean): ServiceError {
  if (path.startsWith("/v1/v1/")) {
    return new ServiceError(
      "not_found",
      "The path has /v1 twice: take it off the client's base URL or path.",
    );
  }
  const hint = hasReference ? `; GET ${REFERENCE} lists what is` : "";
  return new ServiceError("not_found", `Nothing is served at this path${hint}.`);
}
