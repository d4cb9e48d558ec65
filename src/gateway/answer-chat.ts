import { type FittedRequest, fitOutput } from "../backends/fit-output.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { type ServiceError, toServiceError } from "../core/service-error.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { meter, meterFailure } from "./meter.ts";
import { resolveTarget, type Target } from "./resolve-target.ts";

/** An answer under way. */
export interface ChatReply {
  /** The id of the model that answers, as listed. */
  readonly model: string;
  /** Rejects with a `ServiceError` when the call fails before its first event. */
  readonly events: Promise<ChatEvents>;
}

/** THE pipeline: every chat call of every family takes this way, and no other. Throws a `ServiceError`. */
export async function answerChat(
  gateway: Gateway,
  call: ClientCall,
  request: ChatRequest,
): Promise<ChatReply> {
  const target = await resolveTarget(gateway.models, request);
  return { model: target.model.id, events: runTarget(gateway, call, request, target) };
}

async function runTarget(
  gateway: Gateway,
  call: ClientCall,
  request: ChatRequest,
  target: Target,
): Promise<ChatEvents> {
  const { backend, model } = target;
  const { signal } = call;
  const fitted = await fitOutput(request, target, {
    defaultMaxOutputTokens: gateway.defaultMaxOutputTokens,
    signal,
  });
  const metered = await openMeter(gateway, call, model.id, fitted);
  try {
    return meter(await backend.chat(fitted.request, model, { signal }), metered);
  } catch (thrown) {
    const error = failureOf(thrown, signal);
    await meterFailure(metered, error);
    throw error;
  }
}
