import type { Actor } from "../../access/actor.ts";
import type { Caller } from "../../core/caller.ts";
import type { RequestContext } from "./route.ts";

/** Who acts by this request, as the verbs of `access` take it. */
export function actorOf<Kind extends Caller>(
  { env }: RequestContext,
  caller: Kind,
): Actor & { readonly caller: Kind } {
  return { caller, address: env.address(), requestId: env.requestId };
}
