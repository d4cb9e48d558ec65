import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { Context, Handler } from "hono";
import { toServiceError } from "../core/service-error.ts";
import { type ErrorForm, errorResponse } from "./error-response.ts";

/** What the server hands to every request beside the request itself. */
export interface RequestEnvironment {
  readonly Bindings: {
    readonly requestId: string;
    /** Unix milliseconds at arrival. */
    readonly arrivedAt: number;
    /** Lifts the server's own limit on quiet connections; a call to an engine may be silent for minutes. */
    readonly allowSilence: () => void;
  };
}

export type RequestContext = Context<RequestEnvironment>;
export type Router = OpenAPIHono<RequestEnvironment>;
/** A route as the OpenAPI document shows it; its schemas are the source of the document. */
export type RouteDefinition = Omit<RouteConfig, "path"> & { readonly path: string };

/** A router that speaks its family's errors. */
export function createRouter(form: ErrorForm): Router {
  const router = new OpenAPIHono<RequestEnvironment>();
  router.onError((thrown, context) =>
    errorResponse(toServiceError(thrown), context.env.requestId, form),
  );
  return router;
}

/**
 * Adds a route and its documentation in one step. Bodies are read under the edge's limits by the handler and
 * validated once, by the codec that owns the format; the definition is what clients are told.
 */
export function addRoute(
  router: Router,
  definition: RouteDefinition,
  handler: Handler<RequestEnvironment>,
): void {
  router.openAPIRegistry.registerPath(definition as RouteConfig);
  // `{model}` takes the rest of the path: model ids hold slashes.
  const pattern = definition.path.replaceAll(/\{(\w+)\}/g, ":$1{.+}");
  router.on(definition.method.toUpperCase(), pattern, handler);
}
