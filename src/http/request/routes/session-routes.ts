import { SESSION_SECURITY } from "../../openapi/resource-route.ts";
import type { Route, RouteDefinition } from "./route.ts";

const PREFIX = "/v1/";

/** What the refusals mean to a session. Their form stays that of the family. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: "The session is missing, or has ended.",
  403: "An API key cannot call this path, the user may not do it, a change of the password is due, or the license has expired.",
};

/**
 * Returns the routes below `/v1` once more below `/api/v1`, for the console: a session calls them, by its cookie too, and
 * neither a key nor a service token. Each is the same function with the same properties. Routes that are open to all are
 * left out.
 */
export function sessionRoutes(routes: readonly Route[]): readonly Route[] {
  return routes
    .filter(({ definition: { access, path } }) => path.startsWith(PREFIX) && access !== "open")
    .map((route) => route.forSession(sessionDefinition(route)));
}

function sessionDefinition({ definition }: Route): RouteDefinition<"session"> {
  const { path, responses } = definition;
  return {
    ...definition,
    access: "session",
    audience: "console",
    tokens: "closed",
    path: `/api${path}`,
    security: SESSION_SECURITY,
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        { ...response, ...(status in REFUSALS && { description: REFUSALS[Number(status)] }) },
      ]),
    ),
  };
}
