import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import { wantedOutputTokens } from "../backends/rules/fit-output.ts";
import type { Caller, KeyLimits } from "../core/caller.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import type { Admission, LimitedCall } from "../limits/limits.ts";
import { type ChatCall, fitOptions, type Round } from "./chat-call.ts";
import { furtherTargets } from "./fall-back.ts";
import { boundInputTokens, type InputBound } from "./fit/bound-input-tokens.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "./gateway.ts";

/** What a call may spend at most, prompt and answer. */
type Needs = Pick<LimitedCall, "inputTokens" | "outputTokens" | "asksAgain">;
/** A question to a model that is not admitted yet. */
type Question = Pick<ChatCall, "gateway" | "client"> & Pick<Round, "request" | "target">;

/** The key has too few tokens left for the call. */
const TOKEN_REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "token_limit_exceeded",
  "monthly_limit_exceeded",
]);
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  ...TOKEN_REFUSALS,
  "rate_limit_exceeded",
  "request_limit_exceeded",
]);
/** What an engine may read beyond what its counter reports, where a counter is only close. */
const COUNT_MARGIN = { tokens: 32, share: 0.02 };

/** A key that is bound to an assistant must not call plain models. Throws `assistant_not_allowed`. */
export function refuseBoundKey(caller: Caller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "assistant_not_allowed",
    "This API key is bound to its assistant and calls nothing else. Call with a key whose `assistant_id` is null.",
  );
}

/** How a call may be judged before its body is read. */
export interface EarlyJudgement {
  /** Its body is long, or of unknown length. */
  readonly isLarge: boolean;
  /** It is metered only by its key's limit of requests a minute, and counts there. */
  readonly countsInMinute?: true | undefined;
}

/**
 * Refuses a call of a key with a limit that is 0 or used up, while only its headers are known. A call that passes is
 * still to be admitted. Throws, or rejects with, what `admitCall` does; the refusal is counted.
 */
export function refuseExhausted(
  gateway: Pick<Gateway, "limits" | "refusals">,
  client: Omit<ClientCall, "signal">,
  { isLarge, countsInMinute }: EarlyJudgement,
): Promise<void> | undefined {
  const { requestId: id, caller, startedAt } = client;
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  const { limits } = gateway;
  const refuse = refusalCounter(gateway, client);
  const call = { id, keyId: caller.keyId, limits: caller.limits, startedAt, isLarge };
  try {
    return (countsInMinute ? limits.countInMinute(call) : limits.refuseExhausted(call))?.catch(
      refuse,
    );
  } catch (thrown) {
    return refuse(thrown);
  }
}

/**
 * Admits a call of a key that has limits, and reserves what it needs. The admission has to be settled, which a
 * `CallMeter` does. Undefined where nothing limits the caller. Throws, or rejects with, a `ServiceError`: 429 that names
 * the limit, which is counted, or `storage_unavailable`.
 */
export function admitCall(
  gateway: Pick<Gateway, "limits" | "refusals">,
  client: ClientCall,
  needs: Needs,
): Admission | Promise<Admission> | undefined {
  const { requestId: id, caller, startedAt } = client;
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  const { keyId, limits } = caller;
  const refuse = refusalCounter(gateway, client, needs.asksAgain);
  try {
    const admission = gateway.limits.admit({ id, keyId, limits, startedAt, ...needs });
    return admission instanceof Promise ? admission.catch(refuse) : admission;
  } catch (thrown) {
    return refuse(thrown);
  }
}

/** Counts a refusal by a limit, and throws it. One of a call that asks again for its tokens is not the last word. */
function refusalCounter(
  { refusals }: Pick<Gateway, "refusals">,
  { caller, channel, startedAt: at }: Omit<ClientCall, "signal">,
  asksAgain = false,
): (thrown: unknown) => never {
  return (thrown) => {
    if (caller.kind === "key" && thrown instanceof ServiceError && REFUSALS.has(thrown.code)) {
      const { code } = thrown;
      const isLast = !asksAgain || !TOKEN_REFUSALS.has(code);
      if (isLast) refusals?.count({ keyId: caller.keyId, channel, code, at });
    }
    throw thrown;
  };
}

/**
 * Admits a chat call of a key that has limits; undefined where nothing limits the caller. Rejects with a `ServiceError`.
 *
 * What is reserved is never less than what the call can use: for the prompt a bound by its bytes, but no more than the
 * longest context of the models that may answer; for the answer what is asked for, or what remains. Close to exhaustion
 * such a bound refuses what would fit, or leaves too little for the answer. So where there is no room for all of it, the
 * engine counts the prompt, if it can, and the call asks again.
 */
export function admitChat(question: Question): Promise<Reservation | undefined> | undefined {
  const { caller } = question.client;
  if (caller.kind !== "key" || caller.limits === null) return undefined;
  return admitWithin(caller.limits, question);
}

async function admitWithin(
  { tokens, monthlyTokens }: KeyLimits,
  question: Question,
): Promise<Reservation | undefined> {
  // What nothing limits need not be measured.
  if (tokens === null && monthlyTokens === null) return reserve(question, 0);
  const bound = boundInputTokens(question.request);
  const inputTokens = boundWithinContext(question, bound);
  if (question.target.backend.countTokens === undefined) return reserve(question, inputTokens);
  try {
    return await reserve(question, inputTokens, true);
  } catch (thrown) {
    const counted = await countInput(question, bound, tokensLeft(thrown));
    return reserve(question, Math.min(inputTokens, counted ?? inputTokens));
  }
}

/** The first of two tries requires the full output. A model's minimum output is reserved as input, to be all-or-nothing. */
async function reserve(
  { gateway, client, request, target }: Question,
  inputTokens: number,
  isFirstTry = false,
): Promise<Reservation | undefined> {
  const wanted = wantedOutputTokens(request, target.model, gateway.defaultMaxOutputTokens);
  const least = leastOutputTokens(target);
  // Every admission that asks for output holds one token of it.
  const surplus = (isFirstTry ? Math.max(least, wanted) : least) - 1;
  const admission = await admitCall(gateway, client, {
    inputTokens: inputTokens + surplus,
    outputTokens: Math.max(1, wanted - surplus),
    asksAgain: isFirstTry,
  });
  if (admission === undefined) return undefined;
  const granted = admission.outputTokens;
  if (granted === undefined) return { admission };
  return { admission, budget: { inputTokens, outputTokens: granted + surplus } };
}

/**
 * What a further round of an admitted call may spend: what the rounds before it have left of its reservation. Undefined
 * where no limit on tokens holds. Rejects with `token_limit_exceeded` when that is too little for the prompt and the
 * shortest answer.
 */
export async function reserveRound(
  { gateway, client, reservation, meter }: ChatCall,
  { request, target }: Round,
): Promise<TokenBudget | undefined> {
  if (reservation?.budget === undefined) return undefined;
  const left = reservation.budget.inputTokens + reservation.budget.outputTokens - meter.charge;
  const question = { gateway, client, request, target };
  const bound = boundInputTokens(request);
  const wanted = wantedOutputTokens(request, target.model, gateway.defaultMaxOutputTokens);
  const least = leastOutputTokens(target);
  let inputTokens = boundWithinContext(question, bound);
  if (inputTokens + Math.max(wanted, least) > left) {
    inputTokens = Math.min(inputTokens, (await countInput(question, bound, left)) ?? inputTokens);
  }
  if (inputTokens + least > left) throw reservationUsedUp(reservation, inputTokens + least, left);
  return { inputTokens, outputTokens: left - inputTokens };
}

function leastOutputTokens({ backend, model }: Round["target"]): number {
  return backend.leastOutputTokens?.(model) ?? 1;
}

function boundWithinContext(question: Question, { text, fields, media }: InputBound): number {
  const targets = [question.target, ...furtherTargets(question, question)];
  const longest = Math.max(...targets.map(({ model }) => model.contextLength ?? Infinity));
  return Math.min(text + fields + media, longest);
}

/** What the limit that refused a call for its tokens leaves. Throws any other failure. */
function tokensLeft(thrown: unknown): number {
  if (thrown instanceof ServiceError && TOKEN_REFUSALS.has(thrown.code)) {
    return thrown.limits?.tokens?.remaining ?? 0;
  }
  throw thrown;
}

/**
 * The prompt by its engine's own counter, with a bound for what the counter does not see. Undefined where the engine
 * cannot count, or where the prompt surely needs more than `left`: a key that has used up its tokens asks no engine.
 */
async function countInput(
  question: Question,
  { media, fields }: InputBound,
  left: number,
): Promise<number | undefined> {
  const { request, target } = question;
  if (!mayFit(request, left)) return undefined;
  const { backend, model } = target;
  const counted = await backend.countTokens?.(request, model, fitOptions(question));
  if (counted === undefined) return undefined;
  const margin = Math.max(COUNT_MARGIN.tokens, Math.ceil(counted * COUNT_MARGIN.share));
  return counted + margin + fields + (backend.countsMedia === true ? 0 : media);
}

/** The estimate tends to be too high; half of it tends to be too low. */
function mayFit(request: ChatRequest, tokens: number): boolean {
  return COUNT_MARGIN.tokens + estimateInputTokens(request) / 2 < tokens;
}

function reservationUsedUp({ admission }: Reservation, needed: number, left: number): ServiceError {
  return new ServiceError(
    "token_limit_exceeded",
    `The next model call of this request may need ${needed} tokens, and ${Math.max(0, left)} are left of what was reserved for it. ` +
      "Send a shorter conversation, or ask an administrator to raise the key's token limit.",
    { shouldRetry: false, limits: admission.status },
  );
}
