import type { RequestContext } from "./router.ts";

/** The `{id}` of the path. */
export function idOf({ req }: RequestContext): string {
  return req.param("id") ?? "";
}
