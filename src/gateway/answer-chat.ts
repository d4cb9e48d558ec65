import { checkContent } from "../backends/check-content.ts";
import { estimateInputTokens } from "../backends/estimate-input-tokens.ts";
import { fitOutput } from "../backends/fit-output.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { type ChatRun, targetOptions } from "./chat-run.ts";
import { fallBack } from "./fall-back.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { type MeteredCall, meter } from "./meter.ts";
import { failMetered } from "./metered-answer.ts";
import { resolveTarget } from "./resolve-target.ts";

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
  checkContent(request, target.model);
  // The name alone is kept: the run holds the request, which may be large, and a stream may be long.
  const answering = { model: target.model.id };
  const run: ChatRun = { gateway, call, request, target, answering };
  return { model: () => answering.model, events: runTarget(run) };
}

async function runTarget(run: ChatRun): Promise<ChatEvents> {
  const { request, target } = run;
  const options = targetOptions(run);
  // It may ask the engine already, and may find that the prompt is too long: such a call has its row too.
  const fitted = await fitOutput(request, target, options).catch(async (thrown: unknown) =>
    failMetered(await openMetered(run, estimateInputTokens(request)), thrown),
  );
  const metered = await openMetered(run, fitted.inputTokens);
  try {
    return meter(await target.backend.chat(fitted.request, target.model, options), metered);
  } catch (thrown) {
    return fallBack(run, metered, thrown);
  }
}

async function openMetered(run: ChatRun, inputTokens: number): Promise<MeteredCall> {
  const { call, gateway, target } = run;
  const { requestId: id, caller, channel, startedAt, signal } = call;
  const { keyId } = caller;
  const start = { id, keyId, channel, model: target.model.id, startedAt, inputTokens };
  return { start, entry: await gateway.journal.open(start), clock: gateway.clock, signal };
}
