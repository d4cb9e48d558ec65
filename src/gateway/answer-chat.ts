import type { ChatEvents } from "../core/chat/chat-event.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { ServiceError } from "../core/service-error.ts";
import { callableName } from "../knowledge/assistants/assistant-index.ts";
import { admitChat } from "./admit.ts";
import { askModel } from "./ask-model.ts";
import { prepareRun } from "./assistant/prepare-run.ts";
import type { Answering } from "./chat-call.ts";
import { checkContent } from "./fit/check-content.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { CallMeter } from "./meter/call-meter.ts";
import { meterCall, meterRounds } from "./meter/meter.ts";
import { type ChatTarget, resolveTarget } from "./resolve-target.ts";
import { runAssistant } from "./run-assistant.ts";

/** An answer in progress. */
export interface ChatReply {
  /**
   * Returns the name of the assistant, or else the id of the answering model, as listed. It is final once `events` is
   * settled, because a fallback may take over before.
   */
  readonly model: () => string;
  /** Returns the id of the answering model, as listed. Final when `model` is. */
  readonly answeringModel: () => string;
  /** Returns the parameters that the model does not get, by their chat-completions names. Final when `model` is. */
  readonly ignored: () => readonly string[];
  /** Rejects with a `ServiceError` when the call fails before its first event. */
  readonly events: Promise<ChatEvents>;
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
}

/**
 * The pipeline of every chat call of every family; there is no other. Admits the call, calls the model or runs the
 * assistant, and meters the answer. Throws a `ServiceError`.
 */
export async function answerChat(
  gateway: Gateway,
  client: ClientCall,
  request: ChatRequest,
): Promise<ChatReply> {
  // Most calls have nothing to wait for here, and an `await` would slow all of them down.
  const binding = client.runId === undefined ? undefined : "fixed";
  const resolving = resolveTarget(gateway, client.caller, request, binding);
  const target = resolving instanceof Promise ? await resolving : resolving;
  checkContent(request, target.model);
  const { assistant } = target;
  const isPlain = assistant === undefined || client.caller.passthrough;
  if (!isPlain || request.fileSearch !== undefined)
    return answerAssisted(gateway, client, request, target);
  const admitting = admitChat({ gateway, client, request, target });
  const reservation = admitting instanceof Promise ? await admitting : admitting;
  const meter = new CallMeter(gateway, client, reservation);
  if (assistant !== undefined) meter.setAssistant(assistant.id);
  // The reply holds this object instead of the round, because a request may be large and a stream may be long.
  const answering = { model: target.model.id, ignored: [] };
  const call = { gateway, client, reservation, meter };
  const model = () => answering.model;
  return {
    model: assistant === undefined ? model : () => callableName(assistant, client.caller),
    answeringModel: model,
    ignored: () => answering.ignored,
    events: meterCall(meter, askModel(call, { request, target, answering })),
    limits: reservation?.admission.status,
  };
}

/** The same for an answer to which the gateway adds something: an assistant's, or one after the client's own search. */
async function answerAssisted(
  gateway: Gateway,
  client: ClientCall,
  request: ChatRequest,
  target: ChatTarget,
): Promise<ChatReply> {
  const { assistants: services } = gateway;
  if (services === undefined) throw noKnowledge();
  const { assistant } = target;
  const run = prepareRun(services, client.caller, target, request);
  const reservation = await admitChat({ gateway, client, request: run.request, target });
  const meter = new CallMeter(gateway, client, reservation);
  if (assistant !== undefined) meter.setAssistant(assistant.id);
  const answering: Answering = { model: target.model.id, ignored: [] };
  const call = { gateway, client, reservation, meter };
  return {
    model: () =>
      assistant === undefined ? answering.model : callableName(assistant, client.caller),
    answeringModel: () => answering.model,
    ignored: () => [
      ...run.unused,
      ...answering.ignored.filter((name) => !run.notAsked.has(name) && !run.unused.includes(name)),
    ],
    events: meterRounds(meter, runAssistant(call, { services, run, target, answering })),
    limits: reservation?.admission.status,
  };
}

function noKnowledge(): ServiceError {
  return new ServiceError("unsupported_parameter", "This gateway serves no `file_search`.", {
    param: "tools",
  });
}
