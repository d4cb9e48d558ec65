import { fitOutput } from "../backends/fit-output.ts";
import type { Target } from "../backends/model-catalog.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { ServiceError, toServiceError } from "../core/service-error.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { meter, meterFailure } from "./meter.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { UsageStart } from "./usage-record.ts";

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
  const { clock, journal, defaultMaxOutputTokens } = gateway;
  const { signal } = call;
  const fitted = await fitOutput(request, target, { defaultMaxOutputTokens, signal });
  const start = usageStart(call, target, fitted.inputTokens);
  const metered = { start, entry: await journal.open(start), clock, signal };
  try {
    const events = await target.backend.chat(fitted.request, target.model, { signal });
    return meter(events, metered);
  } catch (thrown) {
    // A call that the gateway itself ended says why; what the engine's side made of it is only an echo.
    const error = signal.reason instanceof ServiceError ? signal.reason : toServiceError(thrown);
    await meterFailure(metered, error);
    throw error;
  }
}

function usageStart(call: ClientCall, { model }: Target, inputTokens: number): UsageStart {
  const { requestId, caller, channel, startedAt } = call;
  return { id: requestId, keyId: caller.keyId, channel, model: model.id, startedAt, inputTokens };
}
