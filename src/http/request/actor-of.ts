import type { Actor } from "../../access/actor.ts";
import type { Caller } from "../../core/caller.ts";
import type { RequestContext } from "./route.ts";

/** Returns the actor of this request, in the form that the functions of `access` accept. */
export function actorOf<Kind extends Caller>(
  { env }: RequestContext,
  caller: Kind,
): Actor & { readonly caller: Kind } {
  return { caller, address: env.address(), requestId: env.requestId };
}
