import type { Deps } from "../deps.ts";
import type { OpenCall } from "../gateway/open-calls.ts";
import type { RequestContext } from "./router.ts";

/** An open call during which the connection may be silent. */
export function openQuietCall(deps: Deps, context: RequestContext): OpenCall {
  const open = deps.openCalls.open(context.req.raw.signal);
  const endSilence = context.env.allowSilence();
  return {
    ...open,
    close() {
      open.close();
      endSilence();
    },
  };
}
