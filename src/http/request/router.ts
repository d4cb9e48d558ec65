import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AccessLevel, CallerAt } from "../../access/authenticate.ts";
import { toServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import type { CallTrace } from "../../lib/call-trace.ts";
import type { Log } from "../../lib/log.ts";
import { type ErrorForm, errorResponse } from "../answers/error-response.ts";
import { logInternalError } from "./log-internal-error.ts";
import { RememberingRouter } from "./remembering-router.ts";
import type { RequestLine } from "./request-line.ts";

/** What the server hands to every request beside the request itself. */
export interface RequestEnvironment {
  readonly Bindings: {
    readonly requestId: string;
    /** Unix milliseconds at arrival. */
    readonly arrivedAt: number;
    /** The client's address, IPv4 where IPv6 only wraps it; null when it is not known. */
    readonly address: () => string | null;
    /** The client came over TLS, as a trusted proxy tells; the server itself speaks none. */
    readonly isHttps: () => boolean;
    /** Lifts the server's own limit on quiet connections; what it returns brings it back. */
    readonly allowSilence: () => () => void;
    readonly log: Log;
    readonly line: RequestLine;
    /** For its calls to engines, where requests are traced. */
    readonly trace: CallTrace | undefined;
  };
}

export type RequestContext = Context<RequestEnvironment>;
/** A route as the OpenAPI document shows it; its schemas are the source of the document. */
export type RouteDefinition<Level extends AccessLevel = AccessLevel> = Omit<RouteConfig, "path"> & {
  readonly path: string;
  /** Who may call. Nothing of the request but its headers is read before that is known. */
  readonly access: Level;
};
type RouteHandler<Level extends AccessLevel> = (
  context: RequestContext,
  caller: CallerAt[Level],
) => Promise<Response> | Response;

/** A router that speaks its family's errors. */
export interface Router {
  readonly hono: OpenAPIHono<RequestEnvironment>;
  /**
   * Adds a route and, unless `hide` is set, its documentation in one step. The caller is known before the handler runs.
   * Bodies are read under the edge's limits by the handler and validated once, by the codec that owns the format; the
   * definition is what clients are told.
   */
  readonly add: <Level extends AccessLevel>(
    definition: RouteDefinition<Level>,
    handler: RouteHandler<Level>,
  ) => void;
  /** The answer for whatever a handler threw. */
  readonly refuse: (thrown: unknown, context: RequestContext) => Response;
}

/** How errors are said: in one form, or in one that the request decides. */
type FormChoice = ErrorForm | ((request: Request) => ErrorForm);

export function createRouter(form: FormChoice, deps: Pick<Deps, "authenticate" | "clock">): Router {
  const hono = new OpenAPIHono<RequestEnvironment>({ router: new RememberingRouter() });
  const refuse = (thrown: unknown, context: RequestContext) => {
    const { log, requestId, line } = context.env;
    const error = toServiceError(thrown);
    line.error = error;
    // What breaks because the client left is no failure.
    if (!context.req.raw.signal.aborted) logInternalError(log, error, requestId);
    const chosen = typeof form === "function" ? form(context.req.raw) : form;
    return errorResponse(error, requestId, chosen, deps.clock.now());
  };
  // Routes catch for themselves: an error handler of the router would be composed anew for every request.
  const guarded = <Level extends AccessLevel>(
    level: Level,
    path: string,
    handler: RouteHandler<Level>,
  ) => {
    return async (context: RequestContext) => {
      try {
        const { arrivedAt: now, address, line } = context.env;
        line.route = path;
        const { headers, method } = context.req.raw;
        const caller = deps.authenticate<Level>(level, { method, headers, address, now });
        // A key is known at once.
        const known = caller instanceof Promise ? await caller : caller;
        line.caller = known;
        return await handler(context, known);
      } catch (thrown) {
        return refuse(thrown, context);
      }
    };
  };
  return {
    hono,
    refuse,
    add({ access, ...definition }, handler) {
      if (definition.hide !== true)
        hono.openAPIRegistry.registerPath(definition as unknown as RouteConfig);
      // `{model}` takes the rest of the path: model ids hold slashes.
      const pattern = definition.path
        .replaceAll("{model}", ":model{.+}")
        .replaceAll(/\{(\w+)\}/g, ":$1");
      hono.on(definition.method.toUpperCase(), pattern, guarded(access, definition.path, handler));
    },
  };
}
