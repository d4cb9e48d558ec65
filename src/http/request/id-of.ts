import type { RequestContext } from "./route.ts";

/** The `{id}` of the path. */
export function idOf({ req }: RequestContext): string {
  return req.param("id") ?? "";
}
