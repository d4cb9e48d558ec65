import type { Target } from "../backends/models/model-catalog.ts";
import { type FittedRequest, fitOutput } from "../backends/rules/fit-output.ts";
import type { ChatEvents } from "../core/chat-event.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { type ChatRun, runOptions, targetOptions } from "./chat-run.ts";
import { checkContent } from "./fit/check-content.ts";
import { furtherTargets } from "./further-targets.ts";
import { covers } from "./grant.ts";
import { type MeteredCall, meter } from "./meter.ts";
import { failMetered } from "./metered-answer.ts";

/** Failures of a model's server; what is wrong with the request itself is wrong for every model. */
const SERVER_FAILURES: ReadonlySet<ErrorCode> = new Set([
  "upstream_error",
  "upstream_timeout",
  "overloaded",
  "rate_limit_exceeded",
]);

/**
 * What follows the failure of a call before its first event: the further models in their order, as long as servers fail
 * and the call's time lasts. The one usage row of the call tells the model that was asked last. Throws the last failure.
 */
export async function fallBack(
  run: ChatRun,
  first: MeteredCall,
  thrown: unknown,
): Promise<ChatEvents> {
  let metered = first;
  let failure = thrown;
  noteFailure(run, thrown);
  for (const target of furtherTargets(run)) {
    if (!isServerFailure(failure) || run.call.signal.aborted) break;
    const fitted = await fitTo(run, target);
    if (fitted === undefined) continue;
    run.target = target;
    run.answering.model = target.model.id;
    const { inputTokens, request } = fitted;
    metered = { ...first, start: { ...first.start, model: target.model.id, inputTokens } };
    try {
      return meter(await target.backend.chat(request, target.model, runOptions(run)), metered);
    } catch (thrownAgain) {
      failure = thrownAgain;
      noteFailure(run, thrownAgain);
    }
  }
  return failMetered(metered, failure);
}

function noteFailure({ gateway, call, target, request }: ChatRun, thrown: unknown): void {
  if (isServerFailure(thrown) && !call.signal.aborted) {
    gateway.failures?.note(target, thrown, { requestId: call.requestId, request });
  }
}

function isServerFailure(thrown: unknown): thrown is ServiceError {
  return thrown instanceof ServiceError && SERVER_FAILURES.has(thrown.code);
}

/** The request as this model can take it; undefined when it cannot, for content, length or limits: the next one may. */
async function fitTo(run: ChatRun, target: Target): Promise<FittedRequest | undefined> {
  if (run.grant !== undefined && !covers(run.grant, run.request, target)) return undefined;
  try {
    checkContent(run.request, target.model);
    return await fitOutput(run.request, target, targetOptions(run));
  } catch {
    return undefined;
  }
}
