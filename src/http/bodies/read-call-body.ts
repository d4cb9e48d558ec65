import type { Caller } from "../../core/callers/caller.ts";
import type { Channel } from "../../core/channel.ts";
import type { Deps } from "../../deps.ts";
import { type EarlyJudgement, refuseExhausted } from "../../gateway/admit.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { hasLongBody } from "../server/leaves-body-unread.ts";
import { type JsonBody, readJsonBody } from "./read-json-body.ts";

/** The owner of a body, before the body is read. */
export interface EarlyCall extends Pick<EarlyJudgement, "countsInMinute"> {
  readonly caller: Caller;
  readonly channel: Channel;
  readonly open: OpenCall;
  /** The path's own limit; undefined: GATEWAY_MAX_BODY_BYTES. */
  readonly maxBytes?: number;
}

/**
 * Reads the JSON body of a model call, and counts it among the bodies in memory until the call releases it. The body is
 * read only when the key may call at all. Throws or rejects with a `ServiceError`.
 */
export function readCallBody(
  deps: Pick<Deps, "gateway" | "settings">,
  context: RequestContext,
  early: EarlyCall,
): Promise<JsonBody> {
  const { settings } = deps;
  const { maxBytes } = early;
  const { open } = early;
  const read = () =>
    readJsonBody(context.req.raw, {
      maxBytes: maxBytes ?? settings.GATEWAY_MAX_BODY_BYTES,
      isFixed: maxBytes === undefined ? undefined : true,
      maxDepth: settings.MAX_JSON_DEPTH,
      signal: open.signal,
      hold: (bytes) => open.holdBody(bytes),
    });
  // Most calls have nothing to wait for here, and an `await` would slow all of them down.
  const judged = judgeEarly(deps, context, early);
  return judged === undefined ? read() : judged.then(read);
}

/** Refuses a call of a key with a limit that is 0 or used up, while only the headers have been read. */
export function judgeEarly(
  { gateway }: Pick<Deps, "gateway">,
  { env, req }: RequestContext,
  { caller, channel, countsInMinute }: Omit<EarlyCall, "open">,
): Promise<void> | undefined {
  const { requestId, arrivedAt: startedAt } = env;
  const isLarge = hasLongBody(req.raw.headers);
  const call = { requestId, caller, channel, startedAt };
  return refuseExhausted(gateway, call, { isLarge, countsInMinute });
}
