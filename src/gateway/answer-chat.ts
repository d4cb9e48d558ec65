import { estimateInputTokens } from "../backends/estimate-input-tokens.ts";
import { fitOutput } from "../backends/fit-output.ts";
import type { Target } from "../backends/model-catalog.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { ServiceError, toServiceError } from "../core/service-error.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { type MeteredCall, meter, meterFailure } from "./meter.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { UsageStart } from "./usage-record.ts";

/** An answer under way. */
export interface ChatReply {
  /** The id of the model that answers, as listed. Final once `events` is settled: a fallback may have taken over. */
  readonly model: () => string;
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
  return { model: () => target.model.id, events: runTarget(gateway, call, request, target) };
}

async function runTarget(
  gateway: Gateway,
  call: ClientCall,
  request: ChatRequest,
  target: Target,
): Promise<ChatEvents> {
  const { defaultMaxOutputTokens } = gateway;
  const options = { signal: call.signal, passthrough: call.caller.passthrough };
  const open = (inputTokens: number) => openMetered(gateway, call, target, inputTokens);
  // It may ask the engine already, and may find that the prompt is too long: such a call has its row too.
  const fitted = await fitOutput(request, target, { defaultMaxOutputTokens, ...options }).catch(
    async (thrown: unknown) => fail(await open(estimateInputTokens(request)), thrown),
  );
  const metered = await open(fitted.inputTokens);
  try {
    return meter(await target.backend.chat(fitted.request, target.model, options), metered);
  } catch (thrown) {
    return fail(metered, thrown);
  }
}

async function openMetered(
  { clock, journal }: Gateway,
  call: ClientCall,
  target: Target,
  inputTokens: number,
): Promise<MeteredCall> {
  const start = usageStart(call, target, inputTokens);
  return { start, entry: await journal.open(start), clock, signal: call.signal };
}

/** Writes the row of a call that failed before its first event, and throws what its client is told. */
async function fail(metered: MeteredCall, thrown: unknown): Promise<never> {
  const { reason } = metered.signal;
  // A call that the gateway itself ended says why; what the engine's side made of it is only an echo.
  const error = reason instanceof ServiceError ? reason : toServiceError(thrown);
  await meterFailure(metered, error);
  throw error;
}

function usageStart(call: ClientCall, { model }: Target, inputTokens: number): UsageStart {
  const { requestId, caller, channel, startedAt } = call;
  return { id: requestId, keyId: caller.keyId, channel, model: model.id, startedAt, inputTokens };
}
