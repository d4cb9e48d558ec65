import type { AccessLevel, CallerAt } from "../../../access/authenticate.ts";
import type { ServiceTokenCaller } from "../../../core/callers/caller.ts";
import { scopeFor } from "../../../core/callers/service-scope.ts";
import { toServiceError } from "../../../core/service-error.ts";
import type { Deps } from "../../../deps.ts";
import { errorResponse } from "../../answers/error-response.ts";
import { logInternalError } from "../log-internal-error.ts";
import type {
  AnyRouteDefinition,
  RequestContext,
  Route,
  RouteDefinition,
  TokenAccess,
} from "./route.ts";

type RouteHandler<Level extends AccessLevel, Tokens extends TokenAccess> = (
  context: RequestContext,
  caller: CallerAt[Level] | (Tokens extends "closed" ? never : ServiceTokenCaller),
) => Promise<Response> | Response;

/** The routes of a family or of a resource. */
export interface Router {
  readonly routes: readonly Route[];
  /**
   * Adds a route. The caller is known before the handler runs. The handler reads the body under the edge's limits. The
   * body is checked once, by the schema or the codec that owns the format; the definition documents it for clients.
   */
  readonly add: <Level extends AccessLevel, Tokens extends TokenAccess = "closed">(
    definition: RouteDefinition<Level, Tokens>,
    handler: RouteHandler<Level, Tokens>,
  ) => void;
  /** Builds the answer for an error that a handler threw. */
  readonly refuse: Refuse;
}

type Refuse = (thrown: unknown, context: RequestContext) => Response;

export function createRouter({
  authenticate,
  clock,
}: Pick<Deps, "authenticate" | "clock">): Router {
  const routes: Route[] = [];
  const refuse = createRefuse(clock);
  return {
    routes,
    refuse,
    add<Level extends AccessLevel, Tokens extends TokenAccess>(
      definition: RouteDefinition<Level, Tokens>,
      handler: RouteHandler<Level, Tokens>,
    ) {
      const routeAt = (defined: AnyRouteDefinition): Route => {
        const { access, method, path, tokens = "closed" } = defined;
        const scope = tokens === "closed" ? undefined : scopeFor(tokens, method);
        // Routes catch their own errors, because an error handler of the router would be composed again for every
        // request.
        const guarded = async (context: RequestContext) => {
          try {
            const { arrivedAt: now, address, line } = context.env;
            line.route = path;
            const { headers, method: asked } = context.req.raw;
            const caller = authenticate(access, { method: asked, headers, address, now }, scope);
            // A key is known synchronously.
            const known = caller instanceof Promise ? await caller : caller;
            line.caller = known;
            // A token is only let in where the type of the route has one.
            return await handler(context, known as Parameters<typeof handler>[1]);
          } catch (thrown) {
            return refuse(thrown, context);
          }
        };
        return { definition: defined, handler: guarded, forSession: routeAt };
      };
      routes.push(routeAt(definition));
    },
  };
}

/** Creates the function that logs defects of the gateway and answers in the form that the client reads. */
export function createRefuse(clock: Deps["clock"]): Refuse {
  return (thrown, context) => {
    const { errorForm, log, requestId, line } = context.env;
    const error = toServiceError(thrown);
    line.error = error;
    // An error that follows from the client's disconnect is not a failure.
    if (!context.req.raw.signal.aborted) logInternalError(log, error, requestId);
    return errorResponse(error, requestId, errorForm, clock.now());
  };
}
