import type { Target } from "../backends/models/model-catalog.ts";
import { type FittedRequest, fitOutput } from "../backends/rules/fit-output.ts";
import type { ChatEvents } from "../core/chat/chat-event.ts";
import { MAX_FALLBACKS } from "../core/chat/chat-request.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { type ChatCall, callOptions, fitOptions, type Round, withBudget } from "./chat-call.ts";
import { boundInputTokens } from "./fit/bound-input-tokens.ts";
import { checkContent } from "./fit/check-content.ts";

/** Failures of a model's server. An error in the request itself would fail with every model. */
const SERVER_FAILURES: ReadonlySet<ErrorCode> = new Set([
  "upstream_error",
  "upstream_timeout",
  "overloaded",
  "rate_limit_exceeded",
]);

/**
 * Calls the further models of a round in their order after one failed before its first event. It continues as long as
 * servers fail and the call's time lasts. The round then names the last model called. Rejects with the last failure.
 */
export async function fallBack(call: ChatCall, round: Round, thrown: unknown): Promise<ChatEvents> {
  let failure = thrown;
  noteFailure(call, round, thrown);
  for (const target of furtherTargets(call, round)) {
    if (!isServerFailure(failure) || call.client.signal.aborted) break;
    const fitted = await fitTo(call, round, target);
    if (fitted === undefined) continue;
    const { request, inputTokens } = fitted;
    round.target = target;
    round.answering.model = target.model.id;
    call.meter.retry({ model: target.model.id, inputTokens, budget: round.budget });
    try {
      return await target.backend.chat(request, target.model, callOptions(call, round));
    } catch (thrownAgain) {
      failure = thrownAgain;
      noteFailure(call, round, thrownAgain);
    }
  }
  throw failure;
}

/**
 * Returns the models to try after the first one, each once. Unlisted names are skipped, never replaced by a default.
 */
export function furtherTargets(
  { gateway }: Pick<ChatCall, "gateway">,
  { request, target: first }: Pick<Round, "request" | "target">,
): readonly Target[] {
  const names = request.fallbacks ?? gateway.fallbacks ?? [];
  const targets = new Map<string, Target>();
  for (const name of names.slice(0, MAX_FALLBACKS)) {
    const target = gateway.models.find(name);
    if (target !== undefined) targets.set(target.model.id, target);
  }
  targets.delete(first.model.id);
  return [...targets.values()];
}

function noteFailure(
  { gateway, client, meter }: ChatCall,
  { target, request }: Round,
  thrown: unknown,
): void {
  if (thrown instanceof ServiceError) meter.observeFailure(thrown);
  if (isServerFailure(thrown) && !client.signal.aborted) {
    gateway.failures?.note(target, thrown, { requestId: client.requestId, request });
  }
}

/** Returns whether a model's server failed, so that another model may answer. */
export function isServerFailure(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && SERVER_FAILURES.has(thrown.code);
}

/**
 * Returns the request as this model accepts it. Returns undefined when its content, length or budget do not fit,
 * because the next model may accept it.
 */
async function fitTo(
  call: ChatCall,
  round: Round,
  target: Target,
): Promise<FittedRequest | undefined> {
  if (!isWithinBudget(round, target)) return undefined;
  try {
    checkContent(round.request, target.model);
    return await fitOutput(withBudget(round), target, fitOptions(call));
  } catch {
    return undefined;
  }
}

/**
 * Returns whether the request fits the budget. A fallback model may count the prompt differently from the model that
 * counted it for the reservation, and may need room for a longer answer.
 */
function isWithinBudget({ request, budget }: Round, { backend, model }: Target): boolean {
  if (budget === undefined) return true;
  const { text, fields, media } = boundInputTokens(request);
  const inputTokens = Math.min(text + fields + media, model.contextLength ?? Infinity);
  const least = backend.leastOutputTokens?.(model) ?? 1;
  return inputTokens <= budget.inputTokens && least <= budget.outputTokens;
}
