import type { RequestContext } from "./routes/route.ts";

export function idOf({ req }: RequestContext): string {
  return req.param("id") ?? "";
}
