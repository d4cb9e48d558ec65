import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import { wantedOutputTokens } from "../backends/rules/fit-output.ts";
import { type Caller, NO_LIMITS } from "../core/callers/caller.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import { hasTokenLimit } from "../limits/judge.ts";
import type { Admission, LimitedCall, LimitedSubject } from "../limits/limits.ts";
import { type ChatCall, fitOptions, type Round } from "./chat-call.ts";
import { furtherTargets } from "./fall-back.ts";
import { boundInputTokens, type InputBound } from "./fit/bound-input-tokens.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "./gateway.ts";

/** The upper bound of a call's tokens, for prompt and answer. */
type Needs = Pick<LimitedCall, "inputTokens" | "outputTokens" | "asksAgain">;
/** A chat call or round that is not admitted yet. */
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
/** Tokens that an engine may read beyond its counter's result, for counters that are only approximate. */
const COUNT_MARGIN = { tokens: 32, share: 0.02 };

/**
 * Throws `assistant_not_allowed` for a key that is bound to an assistant, because such a key must not call plain
 * models.
 */
export function refuseBoundKey(caller: Caller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "assistant_not_allowed",
    "This API key is bound to an assistant and cannot call other models. Use a key whose `assistant_id` is null.",
  );
}

/** Facts about a call that are known before its body is read. */
export interface EarlyJudgement {
  /** True when the body is long or of unknown length. */
  readonly isLarge: boolean;
  /** Set when the call is metered only by its key's limit of requests per minute, and counts there. */
  readonly countsInMinute?: true | undefined;
}

/**
 * Refuses a call of a key with a limit that is 0 or used up, while only its headers are known. A call that passes must
 * still be admitted. Throws or rejects with the errors of `admitCall`, and counts the refusal.
 */
export function refuseExhausted(
  gateway: Pick<Gateway, "limits" | "refusals">,
  client: Omit<ClientCall, "signal">,
  { isLarge, countsInMinute }: EarlyJudgement,
): Promise<void> | undefined {
  const { requestId: id, startedAt } = client;
  const subject = subjectOf(client.caller);
  if (subject === undefined) return undefined;
  const { limits } = gateway;
  const refuse = refusalCounter(gateway, client);
  const call = { id, ...subject, startedAt, isLarge };
  try {
    return (countsInMinute ? limits.countInMinute(call) : limits.refuseExhausted(call))?.catch(
      refuse,
    );
  } catch (thrown) {
    return refuse(thrown);
  }
}

/**
 * Admits a call whose key or user has limits, and reserves the tokens it needs. The caller must settle the admission, which
 * a `CallMeter` does. Returns undefined when the caller has no limits. Throws or rejects with a `ServiceError`: a 429
 * that names the limit and is counted, or `storage_unavailable`.
 */
export function admitCall(
  gateway: Pick<Gateway, "limits" | "refusals">,
  client: ClientCall,
  needs: Needs,
): Admission | Promise<Admission> | undefined {
  const { requestId: id, startedAt } = client;
  const subject = subjectOf(client.caller);
  if (subject === undefined) return undefined;
  const refuse = refusalCounter(gateway, client, needs.asksAgain);
  try {
    const admission = gateway.limits.admit({ id, ...subject, startedAt, ...needs });
    return admission instanceof Promise ? admission.catch(refuse) : admission;
  } catch (thrown) {
    return refuse(thrown);
  }
}

/**
 * Builds a function that counts a refusal by a limit and throws it. A refusal for tokens is not final while the call
 * may ask again.
 */
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
 * Admits a chat call whose key or user has limits. Returns undefined when the caller has no limits. Rejects with a
 * `ServiceError`.
 *
 * The reservation is never less than the call can use. The prompt's share is a bound by its bytes, at most the longest
 * context of the models that may answer. The answer's share is the requested output, or the remaining tokens if they
 * are fewer. Close to exhaustion, such a bound refuses calls that would fit, or leaves too little for the answer. When
 * there is not enough room for all of it, the engine counts the prompt, if it can, and the call asks again.
 */
export function admitChat(question: Question): Promise<Reservation | undefined> | undefined {
  const subject = subjectOf(question.client.caller);
  return subject && admitWithin(subject, question);
}

/** Returns whose limits the calls of a caller must keep; undefined for a caller without limits. */
function subjectOf(caller: Caller): LimitedSubject | undefined {
  const { ownerId, personLimits } = caller;
  if (caller.kind === "session") {
    return personLimits && { keyId: ownerId, limits: personLimits, isSession: true };
  }
  const { keyId, limits } = caller;
  if (limits === null && personLimits === undefined) return undefined;
  return { keyId, limits: limits ?? NO_LIMITS, ownerId, ownerLimits: personLimits };
}

async function admitWithin(
  subject: LimitedSubject,
  question: Question,
): Promise<Reservation | undefined> {
  // Without a token limit there is no need to measure the prompt.
  if (!hasTokenLimit(subject)) return reserve(question, 0);
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

/**
 * Reserves tokens. The first of two tries requires the full output. The model's minimum output is reserved as input,
 * which is granted completely or not at all.
 */
async function reserve(
  { gateway, client, request, target }: Question,
  inputTokens: number,
  isFirstTry = false,
): Promise<Reservation | undefined> {
  const wanted = wantedOutputTokens(request, target.model, gateway.defaultMaxOutputTokens);
  const least = leastOutputTokens(target);
  // Every admission that asks for output includes one token of it.
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
 * Returns the tokens that a round may spend whose request was not the admitted one: the rest of the reservation after
 * the earlier rounds, extended as far as the round may need it and the key's limits allow. Returns undefined when the
 * call has no token limit. Rejects with the limit's 429 when too little is left for the prompt and the shortest answer.
 */
export async function reserveRound(
  { gateway, client, reservation, meter }: ChatCall,
  { request, target }: Round,
): Promise<TokenBudget | undefined> {
  if (reservation?.budget === undefined) return undefined;
  let left = reservation.budget.inputTokens + reservation.budget.outputTokens - meter.charge;
  const question = { gateway, client, request, target };
  const bound = boundInputTokens(request);
  const wanted = wantedOutputTokens(request, target.model, gateway.defaultMaxOutputTokens);
  const least = leastOutputTokens(target);
  let inputTokens = boundWithinContext(question, bound);
  const needed = inputTokens + Math.max(wanted, least);
  if (needed > left) left += await extend(reservation, needed - left, 0);
  if (needed > left) {
    inputTokens = Math.min(inputTokens, (await countInput(question, bound, left)) ?? inputTokens);
  }
  const missing = inputTokens + least - left;
  if (missing > 0) {
    const refuse = refusalCounter(gateway, client, meter.isOpen);
    left += await extend(reservation, missing, missing).catch(refuse);
  }
  return { inputTokens, outputTokens: left - inputTokens };
}

async function extend(reservation: Reservation, tokens: number, least: number): Promise<number> {
  const granted = await reservation.admission.extend(tokens, least);
  const { inputTokens = 0, outputTokens = 0 } = reservation.budget ?? {};
  reservation.budget = { inputTokens, outputTokens: outputTokens + granted };
  return granted;
}

function leastOutputTokens({ backend, model }: Round["target"]): number {
  return backend.leastOutputTokens?.(model) ?? 1;
}

function boundWithinContext(question: Question, { text, fields, media }: InputBound): number {
  const targets = [question.target, ...furtherTargets(question, question)];
  const longest = Math.max(...targets.map(({ model }) => model.contextLength ?? Infinity));
  return Math.min(text + fields + media, longest);
}

/** Returns the remaining tokens of the limit that refused a call. Throws any other failure. */
function tokensLeft(thrown: unknown): number {
  if (thrown instanceof ServiceError && TOKEN_REFUSALS.has(thrown.code)) {
    return thrown.limits?.tokens?.remaining ?? 0;
  }
  throw thrown;
}

/**
 * Counts the prompt with the engine's own counter, plus a bound for the parts that the counter does not see. Returns
 * undefined when the engine cannot count, or when the prompt certainly needs more than `left`: a key that has used up
 * its tokens must cause no calls to an engine.
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

/** The estimate tends to be too high, and half of it too low. */
function mayFit(request: ChatRequest, tokens: number): boolean {
  return COUNT_MARGIN.tokens + estimateInputTokens(request) / 2 < tokens;
}
