import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { admitChat, refuseBoundKey } from "./admit.ts";
import { askModel } from "./ask-model.ts";
import { CallMeter } from "./call-meter.ts";
import { checkContent } from "./fit/check-content.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { meterCall } from "./meter.ts";
import { resolveTarget } from "./resolve-target.ts";

/** An answer in progress. */
export interface ChatReply {
  /** The id of the model that answers, as listed. Final once `events` is settled: a fallback may have taken over. */
  readonly model: () => string;
  /** The parameters that the model does not get, by their names in the chat-completions format. Final as `model` is. */
  readonly ignored: () => readonly string[];
  /** Rejects with a `ServiceError` when the call fails before its first event. */
  readonly events: Promise<ChatEvents>;
  /** What is left of the limits of the caller's key; undefined when it has none. */
  readonly limits: LimitStatus | undefined;
}

/**
 * THE pipeline: every chat call of every family takes this way, and no other. It admits the call, asks the model and
 * meters the answer. Throws a `ServiceError`.
 */
export async function answerChat(
  gateway: Gateway,
  client: ClientCall,
  request: ChatRequest,
): Promise<ChatReply> {
  refuseBoundKey(client.caller);
  // Most calls have nothing to wait for here, and each wait costs all of them.
  const resolving = resolveTarget(gateway.models, request);
  const target = resolving instanceof Promise ? await resolving : resolving;
  checkContent(request, target.model);
  const admitting = admitChat({ gateway, client, request, target });
  const reservation = admitting instanceof Promise ? await admitting : admitting;
  const meter = new CallMeter(gateway, client, reservation);
  // The reply holds this and not the round: a request may be large, and a stream may be long.
  const answering = { model: target.model.id, ignored: [] };
  const call = { gateway, client, reservation, meter };
  return {
    model: () => answering.model,
    ignored: () => answering.ignored,
    events: meterCall(meter, askModel(call, { request, target, answering })),
    limits: reservation?.admission.status,
  };
}
