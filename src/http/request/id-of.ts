import type { RequestContext } from "./route.ts";

export function idOf({ req }: RequestContext): string {
  return req.param("id") ?? "";
}
