import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import { wantedOutputTokens } from "../backends/rules/fit-output.ts";
import type { KeyLimits } from "../core/caller.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { ServiceError } from "../core/service-error.ts";
import { admitCall, TOKEN_REFUSALS } from "./admit-call.ts";
import { type ChatRun, targetOptions } from "./chat-run.ts";
import { boundInputTokens, type InputBound } from "./fit/bound-input-tokens.ts";
import { furtherTargets } from "./further-targets.ts";
import type { Grant } from "./grant.ts";

/** A chat call that is not admitted yet. */
type Plea = Pick<ChatRun, "gateway" | "call" | "request" | "target">;

/** What an engine may read beyond what its counter tells, where a counter may only come close. */
const COUNT_MARGIN = { tokens: 32, share: 0.02 };

/**
 * Admits a chat call of a key that has limits; undefined where nothing limits the caller. Throws a `ServiceError`.
 *
 * What is reserved is never less than what the call can use: for the prompt a bound by its bytes, but no more than the
 * longest context of the models that may answer; for the answer what is asked for, or what remains. Near exhaustion
 * such a bound refuses what would fit, or leaves an answer less than there is. So where the whole of it has no room the
 * prompt is counted by its engine, if that can count, and the call asks again.
 */
export function admitChat(plea: Plea): Promise<Grant | undefined> | undefined {
  const { caller } = plea.call;
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  return admitWithin(caller.limits, plea);
}

async function admitWithin(
  { tokens, monthlyTokens }: KeyLimits,
  plea: Plea,
): Promise<Grant | undefined> {
  // What nothing limits need not be measured.
  if (tokens === null && monthlyTokens === null) return reserve(plea, { inputTokens: 0 });
  const bound = boundInputTokens(plea.request);
  const inputTokens = Math.min(bound.text + bound.fields + bound.media, longestContext(plea));
  if (plea.target.backend.countTokens === undefined) return reserve(plea, { inputTokens });
  try {
    return await reserve(plea, { inputTokens, isFirstTry: true });
  } catch (thrown) {
    const left = tokensLeft(thrown);
    const counted = mayFit(plea.request, left) ? await countInput(plea, bound) : undefined;
    return reserve(plea, { inputTokens: Math.min(inputTokens, counted ?? inputTokens) });
  }
}

/**
 * The first of two tries wants the whole answer or nothing, and some vendors take no limit below so many tokens. What is
 * had whole or not at all is asked for as the prompt is, but for the one token that every admission holds.
 */
async function reserve(
  plea: Plea,
  {
    inputTokens,
    isFirstTry = false,
  }: { readonly inputTokens: number; readonly isFirstTry?: boolean },
): Promise<Grant | undefined> {
  const { gateway, call, request, target } = plea;
  const { backend, model } = target;
  const wanted = wantedOutputTokens(request, model, gateway.defaultMaxOutputTokens);
  const least = backend.leastOutputTokens?.(model) ?? 1;
  const surplus = (isFirstTry ? Math.max(least, wanted) : least) - 1;
  const admission = await admitCall(gateway, call, {
    inputTokens: inputTokens + surplus,
    outputTokens: Math.max(1, wanted - surplus),
    asksAgain: isFirstTry,
  });
  if (admission === undefined) return undefined;
  const granted = admission.outputTokens;
  if (granted === undefined) return { admission };
  return { admission, reserved: { inputTokens, outputTokens: granted + surplus } };
}

function longestContext(plea: Plea): number {
  const targets = [plea.target, ...furtherTargets(plea)];
  return Math.max(...targets.map(({ model }) => model.contextLength ?? Infinity));
}

/** What the limit that refused a call for its tokens leaves. Throws what is no such refusal. */
function tokensLeft(thrown: unknown): number {
  if (thrown instanceof ServiceError && TOKEN_REFUSALS.has(thrown.code)) {
    return thrown.limits?.tokens?.remaining ?? 0;
  }
  throw thrown;
}

/** A key that has used up its tokens is refused without a word to the engine. */
function mayFit(request: ChatRequest, tokens: number): boolean {
  // The estimate is rather too high; half of it is rather too low.
  return COUNT_MARGIN.tokens + estimateInputTokens(request) / 2 < tokens;
}

/** The prompt by its engine's own counter, and a bound for what that is not shown; undefined where there is none. */
async function countInput(
  { gateway, call, request, target }: Plea,
  { media, fields }: InputBound,
): Promise<number | undefined> {
  const { backend, model } = target;
  const options = targetOptions({ gateway, call });
  const counted = await backend.countTokens?.(request, model, options);
  if (counted === undefined) return undefined;
  const margin = Math.max(COUNT_MARGIN.tokens, Math.ceil(counted * COUNT_MARGIN.share));
  return counted + margin + fields + (backend.countsMedia === true ? 0 : media);
}
