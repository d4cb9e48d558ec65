import { ServiceError } from "../core/service-error.ts";
import { chatErrorForm, errorResponse } from "./error-response.ts";
import type { RequestContext, Router } from "./router.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** A path nobody serves is 404; one that is served by other methods is 405 and names them. */
export function refuseUnknownPath(root: Router, context: RequestContext): Response {
  const { path, method } = context.req;
  const allowed = METHODS.filter(
    (candidate) => root.hono.router.match(candidate, path)[0].length > 0,
  );
  const { requestId } = context.env;
  if (allowed.length === 0) return errorResponse(notFound(path), requestId, chatErrorForm);
  const error = new ServiceError(
    "method_not_allowed",
    `${method} is not served here; use ${allowed.join(" or ")}.`,
  );
  const response = errorResponse(error, requestId, chatErrorForm);
  response.headers.set("allow", allowed.join(", "));
  return response;
}

function notFound(path: string): ServiceError {
  const hint = path.startsWith("/v1/v1/")
    ? "The path has /v1 twice: take it off the client's base URL or path."
    : "Nothing is served at this path; GET /v1/docs lists what is.";
  return new ServiceError("not_found", hint);
}
