import type { AccessLevel } from "../../access/authenticate.ts";
import type { RouteDefinition } from "./route.ts";

/** A route that the document of `/v1` leaves out: it is the console's, the operator's or a page. */
export function hiddenRoute<Level extends AccessLevel>(
  method: RouteDefinition["method"],
  path: string,
  access: Level,
): RouteDefinition<Level> {
  return { method, path, access, hide: true, responses: {} };
}
