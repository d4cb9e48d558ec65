import type { AnyActor } from "../../access/actor.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { RequestContext } from "./routes/route.ts";

/** Returns the actor of this request, in the form that the functions of `access` accept. */
export function actorOf<Kind extends AnyCaller>(
  { env }: RequestContext,
  caller: Kind,
): AnyActor & { readonly caller: Kind } {
  return { caller, address: env.address(), requestId: env.requestId };
}
