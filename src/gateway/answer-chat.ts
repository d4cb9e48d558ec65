import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import { fitOutput } from "../backends/rules/fit-output.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { admitChat } from "./admit-chat.ts";
import { type ChatRun, runOptions } from "./chat-run.ts";
import { fallBack } from "./fall-back.ts";
import { checkContent } from "./fit/check-content.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import type { Grant } from "./grant.ts";
import { type MeteredCall, meter } from "./meter.ts";
import { failMetered } from "./metered-answer.ts";
import { openMetered } from "./open-metered.ts";
import { refuseBoundKey } from "./refuse-bound-key.ts";
import { resolveTarget } from "./resolve-target.ts";

/** An answer under way. */
export interface ChatReply {
  /** The id of the model that answers, as listed. Final once `events` is settled: a fallback may have taken over. */
  readonly model: () => string;
  /** The parameters that the model is not told, by their names in the chat-completions format. Final as `model` is. */
  readonly ignored: () => readonly string[];
  /** Rejects with a `ServiceError` when the call fails before its first event. */
  readonly events: Promise<ChatEvents>;
  /** What is left of the limits of the caller's key; undefined when it has none. */
  readonly limits: LimitStatus | undefined;
}

/** THE pipeline: every chat call of every family takes this way, and no other. Throws a `ServiceError`. */
export async function answerChat(
  gateway: Gateway,
  call: ClientCall,
  request: ChatRequest,
): Promise<ChatReply> {
  refuseBoundKey(call.caller);
  // Most calls have nothing to wait for here, and each wait costs all of them.
  const resolved = resolveTarget(gateway.models, request);
  const target = resolved instanceof Promise ? await resolved : resolved;
  checkContent(request, target.model);
  const admitted = admitChat({ gateway, call, request, target });
  const grant = admitted instanceof Promise ? await admitted : admitted;
  // The name alone is kept: the run holds the request, which may be large, and a stream may be long.
  const answering = { model: target.model.id, ignored: [] };
  const granted = withReserved(request, grant);
  const run: ChatRun = { gateway, call, request: granted, target, answering, grant };
  return {
    model: () => answering.model,
    ignored: () => answering.ignored,
    events: runTarget(run),
    limits: grant?.admission.status,
  };
}

async function runTarget(run: ChatRun): Promise<ChatEvents> {
  const { request, target } = run;
  const options = runOptions(run);
  const fitting = fitOutput(request, target, options);
  // It may ask the engine already, and may find that the prompt is too long: such a call has its row too.
  const fitted =
    fitting instanceof Promise
      ? await fitting.catch(async (thrown: unknown) =>
          failMetered(await openRun(run, estimateInputTokens(request)), thrown),
        )
      : fitting;
  const metered = await openRun(run, fitted.inputTokens);
  try {
    return meter(await target.backend.chat(fitted.request, target.model, options), metered);
  } catch (thrown) {
    return fallBack(run, metered, thrown);
  }
}

function withReserved(request: ChatRequest, grant: Grant | undefined): ChatRequest {
  if (grant?.reserved === undefined) return request;
  return { ...request, reservedOutputTokens: grant.reserved.outputTokens };
}

function openRun(
  { call, gateway, target, grant }: ChatRun,
  inputTokens: number,
): Promise<MeteredCall> {
  return openMetered(gateway, call, { model: target.model.id, inputTokens }, grant);
}
