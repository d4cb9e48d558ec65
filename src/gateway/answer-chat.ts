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
  /**
   * Returns the id of the answering model, as listed. It is final once `events` is settled, because a fallback may take
   * over before.
   */
  readonly model: () => string;
  /** Returns the parameters that the model does not get, by their chat-completions names. Final when `model` is. */
  readonly ignored: () => readonly string[];
  /** Rejects with a `ServiceError` when the call fails before its first event. */
  readonly events: Promise<ChatEvents>;
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
}

/**
 * The pipeline of every chat call of every family; there is no other. Admits the call, calls the model and meters the
 * answer. Throws a `ServiceError`.
 */
export async function answerChat(
  gateway: Gateway,
  client: ClientCall,
  request: ChatRequest,
): Promise<ChatReply> {
  refuseBoundKey(client.caller);
  // Most calls have nothing to wait for here, and an `await` would slow all of them down.
  const resolving = resolveTarget(gateway.models, request);
  const target = resolving instanceof Promise ? await resolving : resolving;
  checkContent(request, target.model);
  const admitting = admitChat({ gateway, client, request, target });
  const reservation = admitting instanceof Promise ? await admitting : admitting;
  const meter = new CallMeter(gateway, client, reservation);
  // The reply holds this object instead of the round, because a request may be large and a stream may be long.
  const answering = { model: target.model.id, ignored: [] };
  const call = { gateway, client, reservation, meter };
  return {
    model: () => answering.model,
    ignored: () => answering.ignored,
    events: meterCall(meter, askModel(call, { request, target, answering })),
    limits: reservation?.admission.status,
  };
}
