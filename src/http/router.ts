import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { Context } from "hono";
import { toServiceError } from "../core/service-error.ts";
import type { Log } from "../lib/log.ts";
import { type ErrorForm, errorResponse } from "./error-response.ts";
import { logInternalError } from "./log-internal-error.ts";

/** What the server hands to every request beside the request itself. */
export interface RequestEnvironment {
  readonly Bindings: {
    readonly requestId: string;
    /** Unix milliseconds at arrival. */
    readonly arrivedAt: number;
    /** Lifts the server's own limit on quiet connections; what it returns brings it back. */
    readonly allowSilence: () => () => void;
    readonly log: Log;
  };
}

export type RequestContext = Context<RequestEnvironment>;
/** A route as the OpenAPI document shows it; its schemas are the source of the document. */
export type RouteDefinition = Omit<RouteConfig, "path"> & { readonly path: string };
type RouteHandler = (context: RequestContext) => Promise<Response>;

/** A router that speaks its family's errors. */
export interface Router {
  readonly hono: OpenAPIHono<RequestEnvironment>;
  /**
   * Adds a route and its documentation in one step. Bodies are read under the edge's limits by the handler and
   * validated once, by the codec that owns the format; the definition is what clients are told.
   */
  readonly add: (definition: RouteDefinition, handler: RouteHandler) => void;
  /** The answer for whatever a handler threw. */
  readonly refuse: (thrown: unknown, context: RequestContext) => Response;
}

export function createRouter(form: ErrorForm): Router {
  const hono = new OpenAPIHono<RequestEnvironment>();
  const refuse = (thrown: unknown, context: RequestContext) => {
    const { log, requestId } = context.env;
    const error = toServiceError(thrown);
    // What breaks because the client left is no failure.
    if (!context.req.raw.signal.aborted) logInternalError(log, error, requestId);
    return errorResponse(error, requestId, form);
  };
  // Routes catch for themselves: an error handler of the router would be composed anew for every request.
  const catching = (handler: RouteHandler): RouteHandler => {
    return async (context) => {
      try {
        return await handler(context);
      } catch (thrown) {
        return refuse(thrown, context);
      }
    };
  };
  return {
    hono,
    refuse,
    add(definition, handler) {
      hono.openAPIRegistry.registerPath(definition as RouteConfig);
      // `{model}` takes the rest of the path: model ids hold slashes.
      const pattern = definition.path.replaceAll(/\{(\w+)\}/g, ":$1{.+}");
      hono.on(definition.method.toUpperCase(), pattern, catching(handler));
    },
  };
}
