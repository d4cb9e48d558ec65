import type { Deps } from "../../deps.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import type { RequestContext } from "./routes/route.ts";

/** Opens a call during which the connection may be silent, and after which its request is logged. */
export function openQuietCall(deps: Deps, context: RequestContext): OpenCall {
  const { allowSilence, line } = context.env;
  const endSilence = allowSilence();
  line.hold();
  return deps.openCalls.open(context.req.raw.signal, "client", () => {
    endSilence();
    line.release();
  });
}
